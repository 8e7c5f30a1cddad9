"""Finds the strongly connected components of a graph by Tarjan's algorithm, without recursion."""

from __future__ import annotations

from collections.abc import Sequence


def strongly_connected(successors: Sequence[Sequence[int]]) -> list[int]:
    """The component number of every node, in reverse topological order; ``successors`` lists each node's targets."""
    count = len(successors)
    index = [-1] * count
    low = [0] * count
    component = [-1] * count
    path: list[int] = []
    clock = components = 0
    for root in range(count):
        if index[root] >= 0:
            continue
        index[root] = low[root] = clock
        clock += 1
        path.append(root)
        work = [(root, iter(successors[root]))]
        while work:
            node, targets = work[-1]
            for target in targets:
                if index[target] < 0:
                    index[target] = low[target] = clock
                    clock += 1
                    path.append(target)
                    work.append((target, iter(successors[target])))
                    break
                if component[target] < 0 and index[target] < low[node]:
                    low[node] = index[target]
            else:
                work.pop()
                if work and low[node] < low[work[-1][0]]:
                    low[work[-1][0]] = low[node]
                if low[node] == index[node]:
                    while True:
                        member = path.pop()
                        component[member] = components
                        if member == node:
                            break
                    components += 1
    return component
