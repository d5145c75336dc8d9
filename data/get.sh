#!/usr/bin/env bash
# get.sh NAME [DIR] fetches a public data set into DIR/NAME from its official address and checks every file's MD5. A
# file gets a temporary name until it is complete. Without DIR it takes $KB_DATA, or else datasets. A file that is there
# and right is kept. Tests name another table of sets in KB_SETS.
set -euo pipefail
sets=${KB_SETS:-$(dirname "${BASH_SOURCE[0]}")/public_sets.txt}

say() { echo "get: $*" >&2; }
names() { sed -n 's/^\([a-z0-9-]*\) .*/\1/p' "$sets" | sort -u; }
usage() { echo "usage: ./run get NAME [DIR]; sets: $(names | xargs | sed 's/ /, /g')"; }

is_right() { # FILE MD5: succeeds if the file has this sum
  [[ -f $1 ]] && md5sum "$1" | grep -q "^$2 "
}

fetch() { # URL FILE: downloads the URL into the file
  if command -v curl >/dev/null; then
    curl --fail --location --silent --show-error --connect-timeout 20 --output "$2" "$1"
  elif command -v wget >/dev/null; then
    wget --quiet --timeout 20 --output-document "$2" "$1"
  else
    say "neither curl nor wget is installed: apt-get install curl"
    return 1
  fi
}

fail() { # FILE URL MD5 TEXT
  say "$1: $4"
  say "  expected: the file of $2, MD5 $3"
  say "  hint:     where there is a network: curl -LO $2; then put it into $folder and give this command again"
  exit 1
}

temporary=
trap 'rm -rf "$temporary"' EXIT

get_file() { # URL MD5: fetches a file unless it is there and right
  local file=$folder/${1##*/}
  if is_right "$file" "$2"; then
    say "$file is there"
    return
  fi
  temporary=$file.$$.tmp
  say "fetching $1"
  fetch "$1" "$temporary" || fail "$file" "$1" "$2" "it could not be fetched"
  is_right "$temporary" "$2" ||
    fail "$file" "$1" "$2" "another file came, MD5 $(md5sum "$temporary" | cut -d' ' -f1)"
  mv "$temporary" "$file"
}

unpack() { # unpacks a folder of an archive beside it; each file appears whole or not at all
  local archive
  for archive in "$folder"/*.tar.gz; do
    [[ -f $archive ]] || continue
    temporary=$folder/unpacked.$$.tmp
    rm -rf "$temporary"
    mkdir "$temporary"
    tar -xzf "$archive" -C "$temporary" --strip-components=1
    mv -f "$temporary"/* "$folder"
    rmdir "$temporary"
    say "unpacked $archive"
  done
}

name=${1:-}
case $name in
  "" | -h | --help) usage && exit 0 ;;
esac
if [[ $# -gt 2 ]]; then
  say "expected NAME and DIR, got $# words; $(usage)"
  exit 2
fi
if ! names | grep -qxF -- "$name"; then
  say "there is no set '$name'; $(usage)"
  exit 2
fi
folder=${2:-${KB_DATA:-datasets}}/$name
mkdir -p "$folder"
while read -r set url md5; do
  if [[ $set == "$name" ]]; then get_file "$url" "$md5" </dev/null; fi
done < <(grep -v '^#' "$sets")
unpack
echo "$name is in $folder: --data $(dirname "$folder")"
