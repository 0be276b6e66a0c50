"""What both allocators answer to the minimal files of tests/data/kube_scheduler."""

# Per file and node the devices of each claim, None if they do not fit: ours, then upstream's.
# "error": upstream gives the whole pod up, on all nodes.
ANSWERS = {
    ("A1-admin-counters", "n1"): ([["d0"]], None),
    ("A2-admin-then-ordinary", "n1"): ([["d0"], ["d0"]], None),
    ("A3-admin-shareable", "n1"): ([["d0", "d0"]], [["d0", "d0"]]),
    ("A4-admin-full-shareable", "n1"): ([["d0"]], None),
    ("B-pool-order", "n1"): ([["d0"]], [["d0"]]),
    ("B-pool-order-one-slice", "node-a"): ([["near"]], [["other"]]),
    ("C-capacity-key", "n1"): ([["d0"]], None),
    ("C2-capacity-key-reverse", "n1"): ([["d0"]], None),
    ("D-name-twice-other-nodes", "n1"): (None, [["d1"]]),
    ("E1-all-updating-alternative", "n1"): ([["d0"]], "error"),
    ("E1-all-updating-two-nodes", "n1"): (None, "error"),
    ("E1-all-updating-two-nodes", "n2"): ([["d0"]], [["d0"]]),
    ("E2-all-constraint-alternative", "n1"): ([["d0"]], "error"),
    ("E2-all-constraint-two-nodes", "n1"): (None, "error"),
    ("E2-all-constraint-two-nodes", "n2"): ([["d0", "d1"]], [["d0", "d1"]]),
    ("E3-all-invalid-two-nodes", "n1"): (None, "error"),
    ("G1-newer-per-device-elsewhere", "n1"): ([["d0"]], [["d0"]]),
    ("G1-newer-per-device-elsewhere", "n2"): ([["d0"]], [["d0"]]),
    ("G2-older-on-two-nodes", "n1"): (None, None),
    ("G3-older-counters-per-device", "n1"): (None, None),
    ("G4-all-other-nodes-pool-updating", "n1"): ([["d0"]], [["d0"]]),
    ("G4-all-other-nodes-pool-updating", "n2"): (None, "error"),
    ("S1-selector-other-node", "n1"): ([["d1"]], "error"),
    ("S2-selector-all-alternative", "n1"): ([["d0"]], "error"),
    ("S3-selector-not-tried", "n1"): (None, "error"),
    ("S4-selector-in-use", "n1"): ([["d1"]], [["d1"]]),
    ("S4-selector-in-use-same-pod", "n1"): ([["d0", "d1"]], [["d0", "d1"]]),
}
