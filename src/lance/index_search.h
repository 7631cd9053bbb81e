/* Nearest vectors: candidates of an IVF_PQ index, exact distances where it does not cover the rows (lance.md 9). */
#ifndef LB_LANCE_INDEX_SEARCH_H
#define LB_LANCE_INDEX_SEARCH_H

#include "lance/fragments.h"

/* As lb_dataset_search; the query was checked for struct_size. */
lb_status lb_lance_search(lb_lance_set *set, const lb_search *search, lb_hit *out, size_t *n, lb_error *err);

#endif
