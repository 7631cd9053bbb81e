/* What the analysis needs to know of functions. Those it does not know are plain: every argument is a value. */
#include <stdlib.h>

#include "lineage/lineage_private.h"

typedef struct function_entry {
    const char *name;
    unsigned traits;
} function_entry;

#define AGG LB_FUNCTION_AGGREGATE
#define MASK LB_FUNCTION_MASKS

/* In byte order. Aggregates of Impala and Hive, and those that other systems have under names of their own. */
static const function_entry functions[] = {
    { "aggif", AGG | LB_FUNCTION_IF },
    { "any_value", AGG },
    { "approx_count_distinct", AGG | MASK },
    { "approx_distinct", AGG | MASK },
    { "approx_percentile", AGG },
    { "approx_quantile", AGG },
    { "approx_quantiles", AGG },
    { "approx_top_k", AGG },
    { "appx_median", AGG },
    { "arg_max", AGG },
    { "arg_min", AGG },
    { "argmax", AGG },
    { "argmin", AGG },
    { "array_agg", AGG },
    { "array_concat_agg", AGG },
    { "arrayagg", AGG },
    { "avg", AGG },
    { "avg_if", AGG },
    { "bit_and", AGG },
    { "bit_or", AGG },
    { "bit_xor", AGG },
    { "bool_and", AGG },
    { "bool_or", AGG },
    { "checksum", AGG | MASK },
    { "coalesce", LB_FUNCTION_CONDITIONAL },
    { "collect_list", AGG },
    { "collect_set", AGG },
    { "corr", AGG },
    { "count", AGG | MASK },
    { "count_big", AGG | MASK },
    { "count_if", AGG | MASK },
    { "countif", AGG | MASK },
    { "covar_pop", AGG },
    { "covar_samp", AGG },
    { "crc32", MASK },
    { "decode", LB_FUNCTION_DECODE },
    { "ds_cpc_sketch", AGG | MASK },
    { "ds_cpc_union", AGG | MASK },
    { "ds_hll_sketch", AGG | MASK },
    { "ds_hll_union", AGG | MASK },
    { "ds_kll_sketch", AGG | MASK },
    { "ds_kll_union", AGG | MASK },
    { "ds_theta_sketch", AGG | MASK },
    { "ds_theta_union", AGG | MASK },
    { "every", AGG },
    { "farm_fingerprint", MASK },
    { "first", AGG },
    { "fnv_hash", MASK },
    { "geometric_mean", AGG },
    { "group_concat", AGG },
    { "grouping", AGG | LB_FUNCTION_GROUPING },
    { "grouping_id", AGG | LB_FUNCTION_GROUPING },
    { "hash", MASK },
    { "hash32", MASK },
    { "hash64", MASK },
    { "histogram", AGG },
    { "hll", AGG | MASK },
    { "if", LB_FUNCTION_IF },
    { "iff", LB_FUNCTION_IF },
    { "ifnull", LB_FUNCTION_CONDITIONAL },
    { "iif", LB_FUNCTION_IF },
    { "isnull", LB_FUNCTION_CONDITIONAL },
    { "json_agg", AGG },
    { "json_arrayagg", AGG },
    { "json_group_array", AGG },
    { "json_group_object", AGG },
    { "json_object_agg", AGG },
    { "json_objectagg", AGG },
    { "jsonb_agg", AGG },
    { "jsonb_object_agg", AGG },
    { "kurtosis", AGG },
    { "last", AGG },
    { "listagg", AGG },
    { "logical_and", AGG },
    { "logical_or", AGG },
    { "map_agg", AGG },
    { "map_union", AGG },
    { "mask", MASK },
    { "mask_hash", MASK },
    { "max", AGG },
    { "max_by", AGG },
    { "md5", MASK },
    { "mean", AGG },
    { "median", AGG },
    { "min", AGG },
    { "min_by", AGG },
    { "mode", AGG },
    { "multimap_agg", AGG },
    { "murmur_hash", MASK },
    { "ndv", AGG | MASK },
    { "ndv_no_finalize", AGG | MASK },
    { "nullif", LB_FUNCTION_NULLIF },
    { "nullifzero", LB_FUNCTION_CONDITIONAL },
    { "nvl", LB_FUNCTION_CONDITIONAL },
    { "nvl2", LB_FUNCTION_IF },
    { "percentile", AGG },
    { "percentile_approx", AGG },
    { "percentile_cont", AGG },
    { "percentile_disc", AGG },
    { "quantile", AGG },
    { "quantile_cont", AGG },
    { "quantile_disc", AGG },
    { "regr_avgx", AGG },
    { "regr_avgy", AGG },
    { "regr_count", AGG | MASK },
    { "regr_intercept", AGG },
    { "regr_r2", AGG },
    { "regr_slope", AGG },
    { "regr_sxx", AGG },
    { "regr_sxy", AGG },
    { "regr_syy", AGG },
    { "sample", AGG },
    { "sampled_ndv", AGG | MASK },
    { "sha", MASK },
    { "sha1", MASK },
    { "sha2", MASK },
    { "sha256", MASK },
    { "sha512", MASK },
    { "skewness", AGG },
    { "some", AGG },
    { "std", AGG },
    { "stddev", AGG },
    { "stddev_pop", AGG },
    { "stddev_samp", AGG },
    { "string_agg", AGG },
    { "sum", AGG },
    { "sum_if", AGG },
    { "sumif", AGG },
    { "var_pop", AGG },
    { "var_samp", AGG },
    { "variance", AGG },
    { "variance_pop", AGG },
    { "variance_samp", AGG },
    { "xmlagg", AGG },
    { "xxhash64", MASK },
    { "zeroifnull", LB_FUNCTION_CONDITIONAL },
};

#define FUNCTION_NAME 32 /* longer than any of them */

static int function_compare(const void *key, const void *entry)
{
    const lb_str *name = key;
    return lb_str_compare(*name, lb_str_of(((const function_entry *)entry)->name));
}

unsigned lb_function_traits(lb_str name)
{
    char lower[FUNCTION_NAME];

    if (name.size > sizeof lower)
        return 0;
    for (size_t i = 0; i < name.size; i++)
        lower[i] = name.at[i] >= 'A' && name.at[i] <= 'Z' ? (char)(name.at[i] | 0x20) : name.at[i];
    const lb_str key = { lower, name.size };
    const function_entry *entry = bsearch(&key, functions, LB_COUNT_OF(functions), sizeof *functions, function_compare);
    return entry == NULL ? 0 : entry->traits;
}
