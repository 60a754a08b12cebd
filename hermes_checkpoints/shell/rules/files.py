"""Rules for programs that handle files as files: copy, move, delete, permissions, archives."""

TABLE = """
rm grm unlink srm wipe trash trash-put trash-cli del-cli rimraf trash-rm = delete all
trash-empty = delete nowhere
gio = sub; reads
gio>trash gio>remove = delete all
gio>move gio>rename = move all
gio>copy gio>save = write last
shred gshred = delete all if -u --remove; write all unless -u --remove
  takes -n -s --iterations --size --random-source; unless --help
rmdir grmdir = by rmdir
cp gcp install ginstall = by copy
ditto = write last; takes --arch
mv gmv = move all; into -t --target-directory; takes -S --suffix -B
rename prename perl-rename file-rename rename.ul mmv zmv detox vidir = by rename
ln gln = by link
cpio bsdcpio = by cpio
truncate gtruncate = write all; takes -s --size -r --reference
fallocate = write all; takes -l -o --length --offset
dd gdd dcfldd ddrescue = by dd
touch gtouch = by touch
mkdir gmkdir mkfifo mknod = create all; takes -m --mode
mktemp gmktemp = by mktemp
split gsplit csplit gcsplit = by split
chmod gchmod chown gchown chgrp chattr chflags setfacl setfattr chcon = by permissions
restorecon = mode all|cwd
xattr = by xattr
tee gtee = append all if -a --append; write all unless -a --append
sponge = append all if -a; write all unless -a
patch gpatch = write first|cwd; write -o --output; write -r; unless --dry-run -C --check
  cwd -d --directory; takes -p -i -F -B -z -Y -D -V --input --strip --fuzz
quilt stg = ?write cwd; sub
quilt>series quilt>applied quilt>unapplied quilt>top quilt>diff quilt>files quilt>next = reads
quilt>previous = reads
stg>series stg>show stg>top stg>diff stg>files = reads
tar gtar bsdtar star = by tar
gzip gunzip pigz unpigz bzip2 bunzip2 pbzip2 lbzip2 xz unxz pxz lzma unlzma zstd = by compressor
unzstd zstdmt pzstd = by compressor
lz4 unlz4 brotli unbrotli lzip compress uncompress = by compressor
zip = by zip
unzip = ?write -d|cwd; unless -l -p -t -v -z -Z; takes -x -P
funzip zcat gzcat bzcat xzcat zstdcat lz4cat = reads
unrar = as 7z
7z 7za 7zr 7zz rar = by 7z
unar = ?write -o|cwd; takes -e -p
dtrx atool aunpack patool unp ouch = ?write cwd; unless -l --list
ar gar = by ar
ranlib strip gstrip install_name_tool codesign = write all; write -o
  takes -s -R -K --sign -rpath -change -id
objcopy = write last; takes -O -I -j -R --only-section
patchelf = write all; takes --set-rpath --set-interpreter --replace-needed --add-needed
  only --set-rpath --set-interpreter --replace-needed --add-needed --remove-rpath --shrink-rpath
  only --remove-needed
chrpath = write all; only -r -d -c
jar = by jar
python-archive = by python-archive
rsync openrsync = by rsync
unison = ?write all
dos2unix unix2dos mac2unix unix2mac todos fromdos d2u u2d = write all; takes -n -c -D
convmv = move all; only --notest
fdupes jdupes rdfind = delete all if -d --delete -deleteduplicates
  link all if -L -makesymlinks -makehardlinks
stow = ?link cwd; link -t -d; unless -n --simulate --no
tmpwatch tmpreaper = ?delete all|nowhere; takes -x -m
systemd-tmpfiles = ?delete nowhere; only --clean --remove --create
logrotate = ?write nowhere; unless -d --debug
tmutil = ?delete nowhere
update-alternatives alternatives = ?link nowhere; unless --list --display --query
rclone = by cloud-copy
"""
