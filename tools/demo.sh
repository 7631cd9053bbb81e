#!/usr/bin/env bash
# Show what Lakebed does, on a copy of the example lake that is removed at the end. Run by `make demo`; any failure ends it
# with a status other than 0.
#
#   tools/demo.sh [COMMAND]      the command to show; default build/lakebed
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
lakebed=${1:-$root/build/lakebed}
if [ ! -x "$lakebed" ]; then
    echo "demo: there is no $lakebed: run make first" >&2
    exit 1
fi
lakebed=$(cd "$(dirname "$lakebed")" && pwd)/$(basename "$lakebed")
export COLUMNS=${COLUMNS:-100}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -R "$root/examples/lake" "$scratch/lake"
find "$scratch/lake" -type f -exec touch -d 2020-01-01 {} + # files that just changed are looked at twice
cd "$scratch"

# A few lines of narration.
say()
{
    printf '\n'
    printf '# %s\n' "$@"
}

# Show a command, run it, and ask for its exit status.
show()    # STATUS ARGUMENT…
{
    local wanted=$1 status=0 shown=lakebed argument
    shift
    for argument in "$@"; do
        case $argument in
        *[!A-Za-z0-9_./,=:@%+-]* | '') shown="$shown '$argument'" ;;
        *) shown="$shown $argument" ;;
        esac
    done
    printf '\n$ %s\n' "$shown"
    "$lakebed" "$@" 2>&1 || status=$?
    if [ "$status" != "$wanted" ]; then
        printf 'demo: the exit status was %s, not %s\n' "$status" "$wanted" >&2
        exit 1
    fi
}

say "A folder of data about lakes, as folders are: commas, tabs and semicolons, line breaks in" \
    "fields, two line ends, two encodings; and six reservoirs in every format that is read."
printf '\n$ find lake -type f\n'
find lake -type f | sort

say "Map it: one pass over every file finds where rows begin, and the type and bounds of every" \
    "column. Nothing is guessed: two files cannot be read as they are, and the report says which" \
    "option reads each. The exit status is 1, for something was found."
show 1 map lake

say "With these two options all files are read. The map remembers them, so no later read has to" \
    "repeat them. A checkpoint every 25 rows instead of 65,536, for this lake is small."
show 0 map lake --stride 25 --set 'eu/*.csv:delimiter=;' --set 'nordic/*.csv:encoding=WINDOWS-1252'

say "The folder is one table now; columns of one name are one column."
show 0 lake

say "What each file and column holds, from the map alone."
show 0 stats lake

say "Where is row 150 of the lake? In the levels of Lake Huron, in a block whose place is known:" \
    "no data are read for this answer."
show 0 locate lake 0 60 150

say "Rows 67 to 72 lie in two files."
show 0 slice lake --offset 67 --limit 6 --columns name,country,max_depth_m,year,level_ft --to table

say "What did that take? The files and bytes that were read, and whether the map served them."
show 0 slice lake --offset 67 --limit 6 --columns name,country,max_depth_m,year,level_ft --explain

say "An Arrow file, an Avro file and a text file: borders of files do not matter." \
    "Nor do those of formats: rows of a workbook, of Parquet, of MessagePack and of Lance."
show 0 slice lake --offset 184 --limit 12 --columns name,volume_km3,year,power --to table
show 0 take lake 266 255 238 233 --columns name,country,year,volume_km3 --to table
show 0 schema lake/reservoirs/six_lance.lance

say "A byte of the Parquet file goes bad, and its size and time stay: the doctor finds it, and which" \
    "rows it is in. With the byte as it was, the lake is as mapped."
parquet=lake/reservoirs/six_parquet.parquet
cp -p "$parquet" good.parquet
printf '\n$ printf X | dd of=%s bs=1 seek=300 conv=notrunc\n' "$parquet"
printf X | dd of="$parquet" bs=1 seek=300 conv=notrunc status=none
touch -r good.parquet "$parquet"
show 1 doctor lake --verify
cp -p good.parquet "$parquet"
show 0 doctor lake --verify

say "Rows come behind a file, and another gets a new name: the doctor tells, and heals the map."
printf '\n$ echo Huron,1973,581.3 >> lake/levels/huron.csv; mv lake/asia.csv lake/asia-and-pacific.csv\n'
echo 'Huron,1973,581.3' >>lake/levels/huron.csv
mv lake/asia.csv lake/asia-and-pacific.csv
show 0 doctor lake --heal

say "SQL over these files: which column comes from where is written to a log, and asked of it."
show 0 lineage --lake lake --log log --query-id 1:1 \
    'create table dams as select s.country, sum(s.volume_km3) as water, max(l.max_depth_m) as deepest
     from reservoirs.six_xlsx s join africa l on s.country = l.country group by s.country'
show 0 lineage --log log --upstream dams.water

say "The file in WINDOWS-1252, read by what the map remembers."
show 0 head lake/nordic/nordic.csv -n 5 --columns name,country,max_depth_m,notes --to table

say "The same without the map: the error names the place and the option."
show 3 head lake/nordic/nordic.csv -n 5 --no-map
show 0 head lake/nordic/nordic.csv -n 5 --no-map --encoding WINDOWS-1252 --columns name,country --to ndjson

say "A line break inside a field is part of the value, and a record's own bytes can be had."
show 0 slice lake/africa.csv --offset 10 --limit 1 --to raw
show 0 slice lake/africa.csv --offset 10 --limit 1 --columns name,notes --to ndjson

say "For other programs: Arrow, CSV, JSON. Into a pipe or a file, slice writes all rows."
show 0 slice lake --columns name,area_km2 -o big.arrow
show 0 count lake lake/levels

say "That is all. Next: lakebed --help, README.md, docs/."
