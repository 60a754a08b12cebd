#!/bin/bash
# Runs commands one by one in a scratch tree and prints what each one changed.
#
# Started as: unshare --user --map-root-user --mount --pid --net --fork bash judge.sh ROOT LIST
# ROOT is an empty directory, covered by a tmpfs of this mount namespace; LIST has one command
# per line, base64. Everything a command can see is that tmpfs and read-only system directories.
set -e
root=$1 list=$2
mount --make-rprivate /
commands=$(cat "$list")
mount -t tmpfs none "$root"
cd "$root"
for name in usr bin sbin lib lib32 lib64 etc; do
  [ -e "/$name" ] || continue
  if [ -L "/$name" ]; then cp -P "/$name" .; continue; fi
  mkdir "$name"
  mount --rbind "/$name" "$name"
  mount -o remount,bind,ro,nosuid,nodev "$name"
done
mkdir proc dev tmp home home/u w template
mount -t proc proc proc
for name in null zero full random urandom; do
  touch "dev/$name"
  mount --bind "/dev/$name" "dev/$name"
done
ln -s /proc/self/fd dev/fd
cat > inside.sh <<'INSIDE'
export HOME=/home/u PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=t
export GIT_COMMITTER_EMAIL=t@example.org GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true EDITOR=true PAGER=cat
cd /template
mkdir -p build dist src/lib dir/sub tmp logs web api archive lib bin empty_dir a/b/c images docs
for f in a.txt b.txt f.txt f x y notes.txt data.csv out.txt app.log app.py main.c f.py a.py old.py \
  README.md package.json config.json x.txt old.log list.txt stale.txt build/o.js dist/m.map \
  src/app.py src/a.c src/main.ts src/lib/util.js dir/x dir/sub/x tmp/t logs/app.log web/f api/f \
  lib/old.so a/b/c/f images/a.png images/b.png notes.bak a.tmp b.tmp f.pyc old.cfg docs/x.md; do
  printf 'one foo bar\ntwo debug\nthree a\n' > "$f"
done
printf 'a.txt\nb.txt\n' > list.txt; cp list.txt stale.txt
git init -q . 2>/dev/null && git add -A && git commit -q -m one && git branch feature
echo changed >> README.md
snapshot() {
  find . -path ./.git -prune -o -name __pycache__ -prune -o -type d -printf '%p\td %m\n' \
    -o -printf '%p\t%y %m %s %T@ %l\n' | LC_ALL=C sort
}
while read -r line; do
  rm -rf /w; cp -a /template /w; cd /w
  snapshot > /before
  printf '%s' "$line" | base64 -d > /command
  unshare --pid --fork --kill-child timeout -s KILL 2 bash -c "$(cat /command)" \
    > /dev/null 2>&1 < /dev/null || true
  cd / && cd /w 2>/dev/null || { echo "$line gone"; continue; }
  snapshot > /after
  changed=$(LC_ALL=C diff /before /after | grep '^[<>]' | cut -c3- | cut -f1 | sort -u | base64 -w0)
  echo "$line $changed"
done
INSIDE
printf '%s\n' "$commands" | chroot . /bin/bash /inside.sh
