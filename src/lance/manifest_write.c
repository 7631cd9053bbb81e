#include "lance/manifest.h"

lb_status lb_manifest_encode(lb_manifest *m, lb_str dictionaries, lb_buf *out, lb_error *err)
{
    size_t begin = out->size;
    lb_lance_footer footer = { .major = 0, .minor = 1 };

    LB_TRY(lb_buf_append(out, dictionaries.at, dictionaries.size, err));
    m->pb->version_aux_data = 0;
    if (m->aux != NULL) {
        static const uint8_t gap[4];
        if (out->size == begin) /* position 0 would say that there is none */
            LB_TRY(lb_buf_append(out, gap, sizeof gap, err));
        m->pb->version_aux_data = out->size - begin;
        LB_TRY(lb_lance_encode(&m->aux->base, out, err));
    }
    m->pb->index_section_is_case = LB_PB__MANIFEST__INDEX_SECTION_IS__NOT_SET;
    if (m->indices != NULL) {
        m->pb->index_section_is_case = LB_PB__MANIFEST__INDEX_SECTION_IS_INDEX_SECTION;
        m->pb->index_section = out->size - begin;
        LB_TRY(lb_lance_encode(&m->indices->base, out, err));
    }
    footer.position = out->size - begin;
    m->position = footer.position;
    m->major = footer.major;
    m->minor = footer.minor;
    LB_TRY(lb_lance_encode(&m->pb->base, out, err));
    return lb_lance_encode_footer(&footer, out, err);
}
