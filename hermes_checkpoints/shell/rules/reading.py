"""Rules for programs that read: harmless as such, but many have an option that writes."""

TABLE = """
cat gcat tac ls gls ll la dir vdir head ghead tail gtail wc gwc nl rev cut gcut paste join = reads
comm = reads
fold fmt col expand unexpand column colrm pr tr gtr od hexdump hd strings seq yes factor = reads
numfmt = reads
expr bc dc sleep usleep sum cksum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum = reads
b2sum = reads
md5 shasum b3sum xxhsum crc32 readlink greadlink realpath grealpath basename dirname pathchk = reads
stat gstat cmp look tsort ptx printenv locale getconf nproc whoami id groups logname users = reads
who w last lastlog finger uname hostname hostnamectl uptime cal ncal tty clear reset tput = reads
df du gdu ncdu dust duf free vmstat iostat mpstat sar top htop btop atop ps pgrep pidof = reads
pstree = reads
lsof fuser pkill killall skill xkill renice nvidia-smi lscpu lsblk lsusb lspci lsmod lshw = reads
lsattr getfacl getfattr findmnt blkid dmidecode dmesg sensors acpi inxi neofetch = reads
which gwhich whereis whatis apropos man info tldr cheat locate mlocate plocate mdfind getent = reads
ping ping6 dig nslookup host whois traceroute tracepath mtr netstat ss ip ifconfig route arp = reads
iptables-save nc ncat netcat telnet ssh-keyscan ssh-add nmcli iwconfig ethtool socat openvpn = reads
zgrep zegrep bzgrep xzgrep zless zmore bzless zdiff zcmp zipinfo zipgrep lsar = reads
grep ggrep egrep fgrep rgrep ugrep pcregrep pcre2grep git-grep = reads
ag ack sift pt hgrep = reads
rg ripgrep rga = unknown nowhere if --pre --hostname-bin; takes --pre --hostname-bin
bat batcat exa eza lsd glow mdcat delta diff-so-fancy difft difftastic icdiff colordiff = reads
diff gdiff wdiff interdiff filterdiff lsdiff dwdiff dyff jd = reads
sdiff diff3 = write -o --output
vimdiff = reads
sort gsort = write -o --output
  takes -k -t -S -T --key --field-separator --buffer-size --compress-program
  unknown nowhere if --compress-program
uniq guniq = write 2; takes -f -s -w --skip-fields --skip-chars --check-chars
shuf gshuf = write -o --output; takes -n -i -e
xxd = write 2; takes -l -s -c -g -o -b -n -len -seek -cols -groupsize -offset
iconv = write -o --output; takes -f -t --from-code --to-code
recode = write 2-
base64 gbase64 base32 basenc = write -o --output; takes -i -w -b -d --wrap --input
uuencode = reads
uudecode = write -o|nowhere
tree gtree = write -o
less more most pg lv = write -o -O --log-file --LOG-FILE; takes -p -t -x -j -b
file gfile = ?write @magic.mgc if -C --compile
date gdate = reads
cloc scc tokei sloccount onefetch = write --out --report-file -o --output
jq gojq jaq jql fx jless jnv gron ungron htmlq pup xq tomlq = write -i if -i --in-place; takes -x
  ?write all if -i --in-place
dasel = sub; reads; write -o
dasel>put dasel>delete = write -f --file -o --out
jc jo json_pp json_verify jsonlint json_reformat = write all if -i --in-place
xmllint = write --output -o
xmlstarlet xml = write 2- if -L --inplace; takes -u -v -d -s -i -a -t -n -m
xsltproc = write -o --output
tidy = write all if -m -modify; write -o -output -f -file; style single; takes -config -indent
csvcut csvgrep csvlook csvstat csvsort csvjoin csvstack csvjson = write -o --output; ?write 2- if -I
in2csv csvclean qsv = write -o --output; ?write 2- if -I
mlr = write -o --output; ?write paths if -I; takes --from --ifs --ofs; ?write paths if split tee
etags = write -o -f --output; write @TAGS unless -o -f --output; takes -l; unless --version
ctags = write -o -f; write @tags unless -o -f; unless --version
  takes --languages --exclude --options
xsv = write -o --output; sub
xsv>split xsv>partition = ?write paths; takes -s --size -j --jobs -d --delimiter --filename
xsv>index = ?create nowhere
pygmentize highlight = write -o -O
ldd nm gnm objdump gobjdump readelf greadelf size otool addr2line c++filt dwarfdump = reads
strace ltrace dtruss ktrace = write -o; takes -e -p -s -u -E -P -O -S -b -I -a -X; style first
  runs 1-
gdb lldb = by tools.debugger
perf = sub; reads
perf>record = ?write -o|@perf.data; style first; takes -e -F -p -g -C; runs 1-
perf>stat perf>trace = write -o; style first; takes -e -p -C; runs 1-
perf>report perf>annotate perf>script perf>list perf>top = reads
valgrind = write --log-file --xml-file; style first; runs 1-
identify ffprobe mediainfo sox-info soxi = reads
shellcheck hadolint yamllint actionlint vint checkbashisms = reads
flake8 pycodestyle pydocstyle = write --output-file --tee-output-file
pylint = write --output; takes --rcfile -j
mypy dmypy = ?write --html-report --xml-report --junit-xml --txt-report --cobertura-xml-report
pyright basedpyright pyre pytype ty vulture radon xenon = ?write --outputpath --createstub
interrogate pyroma deptry = ?write --outputpath --createstub
bandit safety pip-audit trivy grype syft gitleaks trufflehog detect-secrets = write -o --output
semgrep = write -o --output; ?write all|cwd if --autofix -a; takes --config -c -e -l
codespell = ?write all|cwd if -w --write-changes -i; takes -S -L -I --skip --ignore-words
typos = ?write all|cwd if -w --write-changes; takes --config --exclude
misspell = write all if -w
vale proselint alex write-good lychee linkchecker = write -o --output
kubeval kubeconform conftest opa kube-linter checkov tfsec = write -o --output --output-file-path
terrascan = write -o --output --output-file-path
tflint = ?write cwd if --fix
fzf sk peco gum dialog whiptail zenity pv = reads
xclip xsel pbcopy pbpaste wl-copy wl-paste say open xdg-open start cmatrix figlet toilet = reads
cowsay lolcat fortune = reads
pmap pidstat slabtop lstopo = reads
systemctl journalctl loginctl timedatectl localectl service launchctl initctl rc-service = reads
  unknown nowhere if --vacuum-size --vacuum-time --rotate
sysctl modprobe rmmod insmod = reads
ssh mosh autossh rlogin = reads
ssh-copy-id = reads
ssh-agent = style first; takes -a -E -t -P; runs 1-
sftp = by transfer.file_transfer
redis-cli = write --rdb --functions-rdb; takes -h -p -a -n -u
mysqladmin pg_isready mongo mongosh clickhouse-client cqlsh influx etcdctl consul = reads
nats kcat = reads
psql mysql mariadb = by tools.sql_client
mongodump = ?write -o --out --archive; ?write @dump unless -o --out --archive
  takes -h -u -p -d -c -q --uri --db --collection --host
pg_dump pg_dumpall mysqldump mariadb-dump mongoexport =
  ?write -f --file -r --result-file -o --out; takes -h -p -U -u -d -t -n
pg_restore mysqlimport mongorestore mongoimport createdb dropdb createuser = write -f
history jobs = reads
ansible ansible-doc ansible-inventory ansible-lint ansible-config = ?write cwd if --fix
ansible-playbook ansible-pull = unknown nowhere
  unless --check --syntax-check --list-tasks --list-hosts -C
ansible-vault = sub; write 1-
ansible-vault>view = reads
ansible-vault>encrypt ansible-vault>decrypt ansible-vault>edit ansible-vault>rekey = write all
  write --output; takes --vault-password-file --vault-id
ansible-vault>create = write all; write --output; takes --vault-password-file --vault-id
ansible-galaxy = ?write -p|cwd; sub
ansible-galaxy>list ansible-galaxy>search ansible-galaxy>info = reads
heroku = sub; reads
flyctl fly netlify railway render doctl linode-cli hcloud scw oci ibmcloud = reads -o
firebase supabase amplify vercel now surge = sub; reads
firebase>init supabase>init amplify>init vercel>pull supabase>gen = ?write cwd
vercel>env = sub; reads
vercel>env>pull = write first|@.env.local; takes --environment --git-branch --token -t --scope -S
vercel>link vercel>build = ?write cwd
op = sub; reads
bq stripe twilio slack-cli jira linear lpass bw vault waypoint = reads; write --output-file
boundary = reads; write --output-file
op>read = write -o --out-file
op>inject = write -o --out-file
argocd flux istioctl linkerd k9s stern kind minikube k3d kops eksctl = reads -o
kubectx kubens = ?write @~/.kube/config
kustomize = sub; ?write @kustomization.yaml; cwd --dir
kustomize>build kustomize>cfg kustomize>version kustomize>localize = write -o --output
  takes --load-restrictor
kustomize>create kustomize>edit = write @kustomization.yaml
helm = sub; reads
helm>create = ?create all
helm>pull helm>fetch helm>package = ?write -d --destination --untardir|cwd; takes --version --repo
helm>dependency helm>dep = sub; ?write 2-|cwd
helm>dependency>list helm>dep>list = reads
helm>dependency>update helm>dependency>build helm>dep>up helm>dep>update = ?write all|cwd
helm>dep>build = ?write all|cwd
helm>plugin helm>repo helm>registry = sub; ?write nowhere
helm>plugin>list helm>repo>list helm>repo>update = reads
helm>template = ?write --output-dir
"""
