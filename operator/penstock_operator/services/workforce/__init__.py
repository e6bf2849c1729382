"""Queue groups in a cluster: their pods are made, counted, asked, scaled, and told of.

    watches ─→ fleets ─┐                 ┌─→ API server: Deployments, pods' marks
                       ├─ step (serving) ┤
    NATS ──→ looking ──┘                 └─→ NATS: retire, recall

`looking` asks servers and workers how it stands, and decides how many workers there are to be; `serving` carries out
and says so, one step at a time for each group. What is decided stands in plan.workload, plan.fleet and plan.scaling.
"""
