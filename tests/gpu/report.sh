# shellcheck shell=bash
# tests/gpu/first sources this file. It keeps the results of stages, a file each in the state's folder, and makes
# report.json and logs.tar.gz of them. It is plain bash, since a bare machine has neither Python nor jq.
declare -A result=()
fields=(status reason seconds limit exit_code attempts date commit device)

load() { # NAME: reads a stage into `result`
  local key value
  result=([status]="not run" [reason]="" [seconds]=0 [limit]=${limits[$1]} [exit_code]=-1 [attempts]=0 [date]=""
    [commit]="" [device]="")
  [[ -f $state/results/$1 ]] || return 0
  while IFS=' ' read -r key value; do
    [[ -z $key ]] || result[$key]=$value
  done <"$state/results/$1"
}

store() { # NAME: writes `result` as the stage's
  local field
  for field in "${fields[@]}"; do echo "$field ${result[$field]}"; done >"$state/results/$1.tmp"
  mv "$state/results/$1.tmp" "$state/results/$1" && unset "stages[$1]"
}

plain() { # replaces tabs by blanks and drops characters for which JSON would need a code, except \ and "
  LC_ALL=C tr '\t\r\200-\377' '  ?' | LC_ALL=C tr -d '\000-\011\013-\037\177'
}

quote() { # TEXT: sets REPLY to a JSON string
  REPLY=${1//\\/\\\\}
  REPLY="\"${REPLY//\"/\\\"}\""
}

add_texts() { # TEXT...: adds the inside of an array to `json`
  local text separator=''
  for text in "$@"; do
    quote "$text"
    json+="$separator$REPLY"
    separator=', '
  done
}

# The status and the JSON of each stage since it was last read, until `store` or `forget` changes it.
declare -A statuses=() stages=()

forget() { rm -f "$state/results/$1" && unset "stages[$1]"; } # NAME

know() { # NAME: fills statuses[NAME] and stages[NAME]
  [[ -z ${stages[$1]:-} ]] || return 0
  local -A result=()
  local json field lines=()
  load "$1"
  [[ ! -f $state/lines/$1 ]] || mapfile -t lines <"$state/lines/$1"
  quote "$1"
  json="    {\"name\": $REPLY"
  for field in "${fields[@]}"; do
    case $field in
      seconds | limit | exit_code | attempts) REPLY=${result[$field]} ;;
      *) quote "${result[$field]}" ;;
    esac
    json+=", \"$field\": $REPLY"
  done
  json+=', "lines": ['
  add_texts "${lines[@]}"
  stages[$1]=$json']}' statuses[$1]=${result[status]}
}

# Sets REPLY to the exit code over the stages that are named.
verdict() {
  local name worst=0
  for name in "$@"; do
    know "$name"
    case ${statuses[$name]} in
      failed | timeout | killed) worst=1 ;;
      missing | refused) [[ $worst -eq 1 ]] || worst=2 ;;
    esac
  done
  REPLY=$worst
}
verdict_text() {
  case $1 in
    0) echo "all passed" ;;
    1) echo "something failed" ;;
    *) echo "nothing failed; something is missing" ;;
  esac
}

now() { TZ=UTC printf -v REPLY '%(%FT%TZ)T' -1; }

write_report() {
  local json code name what separator=''
  verdict "${asked[@]}"
  code=$REPLY
  json=$'{\n'
  for what in commit device driver state; do
    quote "${!what}"
    json+="  \"$what\": $REPLY,"$'\n'
  done
  now
  json+="  \"date\": \"$REPLY\","$'\n'"  \"exit_code\": $code,"$'\n  "libraries": ['
  add_texts "${found[@]}"
  json+=$'],\n  "missing": ['
  for what in "${lost[@]}"; do
    quote "${what%%$'\t'*}"
    json+="$separator"$'\n'"    {\"what\": $REPLY"
    quote "${what#*$'\t'}"
    json+=", \"how\": $REPLY}"
    separator=,
  done
  json+=$'],\n  "stages": [\n'
  separator=''
  for name in "${order[@]}"; do
    know "$name"
    json+=$separator${stages[$name]}
    separator=$',\n'
  done
  json+=$'\n  ]\n}'
  printf '%s\n' "$json" >"$out/report.json.tmp" && mv "$out/report.json.tmp" "$out/report.json"
}

# Packs all of the state that another machine can use. If the cache is in another place, only its picks are packed.
write_logs() {
  local parts=(results lines logs)
  if [[ $KB_CACHE == "$state/cache" ]]; then
    parts+=(cache)
  elif compgen -G "$KB_CACHE/picks.*" >/dev/null; then
    mkdir -p "$state/cache" && cp "$KB_CACHE"/picks.* "$state/cache/" && parts+=(cache)
  fi
  # tar returns 1 if a file changed while it read it
  { tar -C "$state" --owner=0 --group=0 -cf - "${parts[@]}" 2>/dev/null || [[ $? -eq 1 ]]; } |
    gzip -1 >"$out/logs.tar.gz.tmp" && mv "$out/logs.tar.gz.tmp" "$out/logs.tar.gz"
}

write_outputs() {
  write_report
  write_logs
}
