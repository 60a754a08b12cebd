"""Rules for programs that handle files as files: copy, move, delete, permissions, archives."""

TABLE = """
rm grm unlink srm wipe trash trash-put trash-cli del-cli rimraf trash-rm = delete all
trash-empty = delete nowhere
gio = sub; reads
gio>trash gio>remove = delete all
gio>move = by files.move
gio>rename = move all
gio>copy gio>save = write last
shred gshred = delete all if -u --remove; write all unless -u --remove
  takes -n -s --iterations --size --random-source; unless --help
rmdir grmdir = by files.remove_directory
cp gcp install ginstall = by files.copy
ditto = write last; takes --arch
mv gmv = by files.move
rename prename perl-rename file-rename rename.ul mmv zmv detox vidir = by files.rename
ln gln = by files.link
cpio bsdcpio = by archives.cpio
truncate gtruncate = write all; takes -s --size -r --reference
fallocate = write all; takes -l -o --length --offset
dd gdd dcfldd ddrescue = by files.disk_dump
touch gtouch = by files.touch
mkdir gmkdir mkfifo mknod = create all; takes -m --mode
mktemp gmktemp = by files.temporary
split gsplit csplit gcsplit = by files.split
chmod gchmod chown gchown chgrp chattr chflags setfacl setfattr chcon = by files.permissions
restorecon = mode all|cwd
xattr = by files.extended_attributes
tee gtee = append all if -a --append; write all unless -a --append
sponge = append all if -a; write all unless -a
patch gpatch = write first|cwd; write -o --output; write -r; unless --dry-run -C --check
  cwd -d --directory; takes -p -i -F -B -z -Y -D -V --input --strip --fuzz
quilt stg = ?write cwd; sub
quilt>series quilt>applied quilt>unapplied quilt>top quilt>diff quilt>files quilt>next = reads
quilt>previous = reads
stg>series stg>show stg>top stg>diff stg>files = reads
tar gtar bsdtar star = by archives.tar
gzip gunzip pigz unpigz bzip2 bunzip2 pbzip2 lbzip2 xz unxz pxz lzma unlzma = by archives.compressor
zstd = by archives.compressor
unzstd zstdmt pzstd = by archives.compressor
lz4 unlz4 brotli unbrotli lzip compress uncompress = by archives.compressor
zip = by archives.zip_archive
unzip = ?write -d|cwd; unless -l -p -t -v -z -Z; takes -x -P
funzip zcat gzcat bzcat xzcat zstdcat lz4cat = reads
unrar = as 7z
7z 7za 7zr 7zz rar = by archives.seven_zip
unar = ?write -o|cwd; takes -e -p
dtrx atool aunpack patool unp ouch = ?write cwd; unless -l --list
ar gar = by archives.object_archive
ranlib strip gstrip install_name_tool = write all; write -o
  takes -s -R -K -rpath -change -id
codesign = write all; unless -v -d -dv --verify --display -vv -vvv -dvv -dvvv -h
  takes -s --sign --entitlements --identifier -i -o --options --requirements -r
objcopy = write last; takes -O -I -j -R --only-section
patchelf = write all; takes --set-rpath --set-interpreter --replace-needed --add-needed
  only --set-rpath --set-interpreter --replace-needed --add-needed --remove-rpath --shrink-rpath
  only --remove-needed
chrpath = write all; only -r -d -c
jar = by archives.java_archive
python-archive = by archives.python_archive
rsync openrsync = by transfer.rsync
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
rclone = by transfer.cloud_copy
"""
