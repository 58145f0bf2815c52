"""Runs in graph order."""

import threading
import time

import pytest

from lakelogic_assets.plan.schedule import Rules, State, run_in_order

A, B, C, D = ("a",), ("b",), ("c",), ("d",)
DIAMOND = {A: (), B: (A,), C: (A,), D: (B, C)}


def state(result: object) -> State:
    return "done" if result else "failed"


def test_a_node_runs_after_everything_it_waits_for() -> None:
    order: list[tuple[str, ...]] = []
    finished = run_in_order(DIAMOND, lambda key: order.append(key) or key, Rules(state))
    assert order[0] == A
    assert order[-1] == D
    assert {key: p.state for key, p in finished.items()} == dict.fromkeys(DIAMOND, "done")


def test_nodes_that_do_not_wait_for_each_other_run_side_by_side() -> None:
    meeting = threading.Barrier(2, timeout=120)

    def run(key: tuple[str, ...]) -> bool:
        if key in (B, C):
            meeting.wait()
        return True

    assert len(run_in_order(DIAMOND, run, Rules(state), parallel=2)) == 4


def test_what_is_below_a_failure_is_held_and_says_for_whom() -> None:
    def run(key: tuple[str, ...]) -> bool:
        if key == B:
            raise RuntimeError("broken")
        return True

    finished = run_in_order(DIAMOND, run, Rules(state), parallel=2)
    assert finished[B].state == "failed"
    assert str(finished[B].error) == "broken"
    assert finished[C].state == "done"
    assert (finished[D].state, finished[D].waits_for) == ("held", (B,))


def test_a_result_that_does_not_release_holds_what_is_below() -> None:
    finished = run_in_order(DIAMOND, lambda key: key != A, Rules(state))
    assert finished[A].state == "failed"
    assert finished[D].state == "held"


def test_upstreams_outside_of_the_selection_count_as_done() -> None:
    assert run_in_order({D: (B, C)}, lambda _: True, Rules(state))[D].state == "done"


def test_a_circle_is_an_error_and_not_an_endless_wait() -> None:
    started = time.monotonic()
    with pytest.raises(ValueError, match="wait for each other"):
        run_in_order({A: (B,), B: (A,)}, lambda _: True, Rules(state))
    assert time.monotonic() - started < 60


def test_what_comes_after_a_failure_of_its_own_table_runs_all_the_same() -> None:
    order: list[tuple[str, ...]] = []

    def run(key: tuple[str, ...]) -> bool:
        order.append(key)
        return key != A

    finished = run_in_order({B: (), A: (), C: (A,)}, run, Rules(state, after={B: (A,)}))
    assert order == [A, B]
    assert {key: p.state for key, p in finished.items()} == {A: "failed", B: "done", C: "held"}


def test_a_node_may_begin_where_what_is_there_stands_in_for_a_failed_upstream() -> None:
    rules = Rules(state, stands_in=lambda node, blocker: (node, blocker) == (B, A))
    finished = run_in_order({A: (), B: (A,), C: (A,)}, lambda key: key != A, rules)
    assert {key: p.state for key, p in finished.items()} == {A: "failed", B: "done", C: "held"}


def test_after_some_failures_in_a_row_nothing_more_is_started() -> None:
    nodes: dict[str, tuple[str, ...]] = dict.fromkeys("abcdef", ())
    finished = run_in_order(nodes, lambda name: name == "b", Rules(state, max_consecutive_failures=2))
    assert [finished[name].state for name in "abcdef"] == ["failed", "done", "failed", "failed", "held", "held"]
    assert finished["f"].reason == "not started after 2 failures in a row"
