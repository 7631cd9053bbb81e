#!/usr/bin/env python3
"""Write src/sql/sql_keyword_table.h: the words the SQL lexer knows, by hash.

    tools/gen_sql_keywords.py >src/sql/sql_keyword_table.h

A word is there for one of two reasons: the parser asks for it (PARSED), or Impala puts the name in backquotes when it
shows it (QUOTED): a reserved word of Impala, or any word Hive's lexer does not take for an identifier.
"""
import random

# word: '' an ordinary name too; 'a' a name, but no alias without AS; 'r' no name without quotes
PARSED = """
all:r alter and:r anti:a any array as:r asc:r asof:a at authorization between:r both by:r cascade case:r cast:r
cluster:a collate:a columns comment conflict constraint create:r cross:r cube current current_catalog current_date
current_role current_schema current_time current_timestamp current_user database date default delete:r desc:r
directory distinct:r distribute:a div:r do drop:r else:r end:r escape except:r exclude exists:r explain
external extract false:r fetch:a filter first following for:a foreign format from:r full:r generated glob group:r
grouping groups having:r if ignore ilike:r in:r include inner:r insert:r intersect:r interval into:r iregexp:r is:r
join:r key last lateral:a leading left:r like:r limit:r localtime localtimestamp location map matched materialized
merge:r minus:a name natural:a no not:r nothing notnull:a null:r nulls of offset:a on:r only optimize or:r
order:r ordinality others outer:a over overlay overwrite partition:a partitioned percent pivot:a placing position
positional:a preceding primary properties qualify:a range recursive references regexp:r rename repeatable replace
respect returning:a right:r rlike:r rollup row rows safe_cast schema select:r semi:a serdeproperties set:r sets
similar:a some sort:a source spec stored straight_join:r struct substr substring symmetric system_time
system_version table:r tablesample:a target tblproperties temp temporary then:r ties time timestamp to trailing
trim true:r truncate try_cast unbounded union:r unique unknown unnest unpivot:a update upsert use using:r values:a
version view when:r where:r window:a with:r within without xor:a isnull:a zone file options
dbproperties transient clustered
"""

IMPALA = """
add aggregate all alter analytic and anti api_version array as asc authorization avro between bigint binary block_size
boolean buckets by cached cascade case cast change char class clustered close_fn column columns comment compression
compute constraint convert copy create cross cube current data database databases date datetime decimal default delete
delimited desc describe disable distinct div double drop else enable encoding end enforced escaped except exists
execute explain extended external false fields fileformat files finalize_fn first float following for foreign format
formatted from full function functions grant group grouping hash having hudiparquet iceberg if ignore ilike in
incremental init_fn inner inpath insert int integer intermediate intersect interval into invalidate iregexp is jdbc
join jsonfile kudu last left lexical like limit lines load location managedlocation map merge_fn metadata minus non
norely not novalidate null nulls of offset on optimize or orc order outer over overwrite parquet parquetfile partition
partitioned partitions preceding prepare_fn primary produced purge range rcfile real recover references refresh regexp
rely rename repeatable replace replication restrict returns revoke right rlike role roles rollup row rows rwstorage
schema schemas select selectivity semi sequencefile serdeproperties serialize_fn set sets show smallint sort spec stats
stored storagehandler_uri straight_join string struct symbol system_time system_version table tables tablesample
tblproperties terminated textfile then timestamp tinyint to true truncate user_defined_fn unbounded uncached union
unique unknown unnest unset update update_fn upsert use using validate values varchar view views when where with zorder
allocate any are array_agg array_max_cardinality asensitive asymmetric at atomic begin_frame begin_partition blob both
called cardinality cascaded character clob collate collect commit condition connect contains corresponding
current_catalog current_default_transform_group current_path current_role current_row current_schema current_time
cursor cycle deallocate dec decfloat declare define deref deterministic disconnect dynamic each element empty
end_frame end_partition equals escape every exec fetch filter frame_row free fusion get global groups hold indicator
initial inout insensitive intersection json_array json_arrayagg json_exists json_object json_objectagg json_query
json_table json_table_primitive json_value large lateral leading like_regex listagg local localtimestamp match
match_number match_recognize matches merge method modifies multiset national natural nchar nclob no none normalize
nth_value numeric occurrences_regex octet_length omit one only out overlaps overlay pattern per percent
percentile_cont percentile_disc portion position position_regex precedes precision prepare procedure ptf reads
recursive ref referencing release running savepoint scope scroll search seek sensitive session_user similar skip some
specific specifictype sqlexception sqlstate sqlwarning static submultiset subset substring_regex succeeds symmetric
system_user timezone_hour timezone_minute trailing translate_regex translation treat trigger trim_array uescape
value_of varbinary varying versioning whenever window within without
"""

HIVE = """
true false unknown all some none and or not like any if exists asc desc nulls last order group by having qualify where
from as select distinct insert overwrite outer uniquejoin preserve join left right full on partition partitions table
tables columns index indexes rebuild functions show msck repair directory local transform using compactionid cluster
distribute sort union except load prepare export import replication metadata data inpath is null create external alter
change column first after describe drop rename to comment boolean tinyint smallint int integer bigint float real double
precision date datetime timestamp timestamplocaltz time zone interval decimal dec numeric string char varchar array
struct map uniontype reduce partitioned clustered distributed sorted into buckets row rows format delimited fields
terminated escaped collection items keys kill lines stored fileformat inputformat outputformat inputdriver outputdriver
enable enabled disable disabled executed execute location managed managedlocation tablesample bucket out of percent
cast add replace rlike regexp temporary function macro file jar explain ddl extended debug formatted dependency logical
cbo serde with deferred serdeproperties dbproperties dcproperties limit offset set unset tblproperties idxproperties
defined case when then else end mapjoin streamtable clusterstatus utc utc_tmestamp long delete plus minus fetch
intersect view views in database databases materialized schema schemas grant revoke ssl undo lock locks unlock shared
exclusive procedure unsigned while read reads purge range analyze before between both binary cross continue cursor
trigger recordreader recordwriter semi lateral touch archive unarchive compute statistics use option concatenate
show_database update restrict cascade skewed rollup cube directories for window unbounded preceding following current
current_date current_timestamp less more over grouping sets truncate noscan user role roles inner exchange uri server
admin owner principals compact compactions transactions transactional rewrite authorization reoptimization conf values
reload year years query quarter month months week weeks day days dayofweek hour hours minute minutes second seconds
start transaction commit rollback work only write isolation level snapshot autocommit cache primary foreign references
constraint force enforced validate novalidate rely norely unique key abort extract floor merge matched repl dump status
vectorization summary operator expression detail wait resource plan query_parallelism plans activate default check pool
move do alloc_fraction scheduling_policy scheduled every at cron path mapping workload management active unmanaged
application sync ast cost joincost pkfk_join within leading trailing trim ignore respect connector connectors type url
remote spec system_time system_version expire_snapshots set_current_snapshot div
"""

BITS = 11
MASK = (1 << 64) - 1


def lanes(word):
    """What the lexer loads of a word: the first and the last eight bytes (fewer, and zeros, for a shorter word)."""
    raw = bytes(b | 0x20 for b in word.encode())
    first = int.from_bytes(raw[:8].ljust(8, b"\0"), "little")
    last = int.from_bytes(raw[-8:].ljust(8, b"\0"), "little")
    return first, last


def bucket(word, multiplier):
    first, last = lanes(word)
    mixed = (first + ((last * 31) & MASK) + len(word)) & MASK
    return ((mixed * multiplier) & MASK) >> (64 - BITS)


def find_multiplier(words):
    """Of a thousand tries, the one with the fewest words that share a bucket."""
    rng = random.Random(1)
    tries = [rng.getrandbits(64) | 1 for _ in range(1000)]
    return max(tries, key=lambda m: len({bucket(word, m) for word in words}))


def table(heading, values, per_line):
    print(heading)
    for i in range(0, len(values), per_line):
        print("    " + ", ".join(values[i:i + per_line]) + ",")
    print("};")


def main():
    parsed = {}
    for entry in PARSED.split():
        word, _, flag = entry.partition(":")
        parsed[word] = flag or parsed.get(word, "")
    quoted = set(IMPALA.split()) | set(HIVE.split())
    words = set(parsed) | quoted
    multiplier = find_multiplier(words)
    rows = sorted(words, key=lambda word: (bucket(word, multiplier), word))
    begins = [0] * ((1 << BITS) + 1)
    for word in rows:
        begins[bucket(word, multiplier) + 1] += 1
    for i in range(1 << BITS):
        begins[i + 1] += begins[i]

    print("/* The words the SQL lexer knows. Written by tools/gen_sql_keywords.py; do not edit. */")
    print("/* clang-format off */")
    print("#ifndef LB_SQL_KEYWORD_TABLE_H\n#define LB_SQL_KEYWORD_TABLE_H\n\n#include <stdint.h>\n")
    print("typedef enum lb_keyword {\n    LB_KW_NONE,\n    LB_KW_OTHER, /* known only because it is quoted */")
    for word in sorted(parsed):
        print(f"    LB_KW_{word.upper()},")
    print("} lb_keyword;\n")
    print("#define LB_KW_RESERVED 1 /* no name without quotes */")
    print("#define LB_KW_NO_ALIAS 2 /* no alias without AS */")
    print("#define LB_KW_QUOTED 4   /* Impala shows such a name in backquotes */")
    print(f"#define LB_KW_MULTIPLIER UINT64_C({multiplier:#x})\n#define LB_KW_BITS {BITS}\n")
    print("typedef struct lb_keyword_row {\n    const char *word;\n    uint8_t size, flags;")
    print("    uint16_t keyword; /* lb_keyword */\n} lb_keyword_row;\n")
    print("#ifdef LB_KW_TABLE_BODY")
    print("static const lb_keyword_row keyword_rows[] = {")
    for word in rows:
        flags = {"r": 3, "a": 2}.get(parsed.get(word, ""), 0) | (4 if word in quoted else 0)
        name = word.upper() if word in parsed else "OTHER"
        print(f"    {{ \"{word}\", {len(word)}, {flags}, LB_KW_{name} }},")
    print("};\n")
    table("/* Where the rows of a hash begin; they end where the next one's begin. */\n"
          "static const uint16_t keyword_begins[(1 << LB_KW_BITS) + 1] = {", [str(n) for n in begins], 20)
    print("#endif\n\n#endif")


main()
