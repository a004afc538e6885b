#include "cluster/fault.h"
#include "base/rng.h"

const char *mot_fault_name(enum mot_fault_kind kind)
{
    switch (kind) {
    case MOT_FAULT_CRASH: return "crash";
    case MOT_FAULT_RESTART: return "restart";
    case MOT_FAULT_STALL: return "stall";
    case MOT_FAULT_PARTITION: return "partition";
    case MOT_FAULT_SLOW_LINK: return "slow-link";
    case MOT_FAULT_DROP: return "drop";
    case MOT_FAULT_DUPLICATE: return "duplicate";
    case MOT_FAULT_REORDER: return "reorder";
    case MOT_FAULT_CORRUPT: return "corrupt";
    case MOT_FAULT_POISON: return "poison";
    }
    return "fault";
}

bool mot_fault_hits(const struct mot_fault *f, uint32_t workers, mot_node node)
{
    if (f->workers.n == 0 && !f->server) return true;
    if (node >= workers) return f->server;
    for (uint32_t i = 0; i < f->workers.n; i++)
        if (f->workers.v[i] == node) return true;
    return false;
}

bool mot_fault_poisons(const struct mot_faults *faults, uint64_t seed, uint32_t workers, mot_node node,
    uint64_t job, mot_time now)
{
    double chance = now < faults->until ? faults->chance[MOT_FAULT_POISON - MOT_FAULT_DROP] : 0;
    for (uint32_t i = 0; i < faults->scheduled; i++) {
        const struct mot_fault *f = &faults->fault[i];
        bool lasts = f->kind == MOT_FAULT_POISON && f->at <= now && now - f->at < f->lasts;
        if (lasts && f->amount > chance && mot_fault_hits(f, workers, node)) chance = f->amount;
    }
    if (!(chance > 0)) return false;
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_POISON, mot_hash3(MOT_RNG_POISON, node, job));
    return mot_rng_unit(&rng) < chance;
}
