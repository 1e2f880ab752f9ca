"""SPEC strings: what they mean, and that nothing but BadInput ever comes out of bad ones."""

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from testbed.core.errors import BadInput
from testbed.core.spec import Spec, parse_spec, parse_value


@pytest.mark.parametrize(
    ("text", "use", "params"),
    [
        ("rls", "rls", {}),
        ("rls:", "rls", {}),
        ("rls:rate=0.995", "rls", {"rate": 0.995}),
        ("rls: rate = 1e-3 , n=3,", "rls", {"rate": 1e-3, "n": 3}),
        (
            "rls:forgetting.use=exponential,forgetting.rate=0.9",
            "rls",
            {"forgetting": {"use": "exponential", "rate": 0.9}},
        ),
        ("rls:a.b.c=true,a.b.d=false", "rls", {"a": {"b": {"c": True, "d": False}}}),
        ("tls:w=[1, 2, [3, 4]],k=1", "tls", {"w": [1, 2, [3, 4]], "k": 1}),
        ("tls:t={a=1,b=2},k=1", "tls", {"t": {"a": 1, "b": 2}, "k": 1}),
        ("tls:s='a,b',t=\"c=d\",u=x=y", "tls", {"s": "a,b", "t": "c=d", "u": "x=y"}),
        ("tls:s=plain text,e=", "tls", {"s": "plain text", "e": ""}),
        ("my_rls.py:MyRLS", "my_rls.py:MyRLS", {}),
        ("../a b/my-rls.py:MyRLS:rate=2", "../a b/my-rls.py:MyRLS", {"rate": 2}),
        (r"C:\robots\my.py:RLS:rate=2", r"C:\robots\my.py:RLS", {"rate": 2}),
        ("rls:forgetting.use=rule.py:Rule", "rls", {"forgetting": {"use": "rule.py:Rule"}}),
        (
            "my.py:RLS:forgetting.use=rule.py:Rule,n=1",
            "my.py:RLS",
            {"forgetting": {"use": "rule.py:Rule"}, "n": 1},
        ),
    ],
)
def test_a_string_means_what_it_says(text, use, params):
    assert parse_spec(text) == Spec(use, params)


def test_a_table_means_the_same_as_its_string():
    table = {"use": "rls", "forgetting": {"use": "exponential", "rate": 0.9}}
    spec = parse_spec("rls:forgetting.use=exponential,forgetting.rate=0.9")
    assert parse_spec(table) == spec == parse_spec(spec)


@pytest.mark.parametrize(
    "bad",
    ["", ":", "1rls", "rls:rate", "rls:=3", "rls rate=3", "a/b", "rls:a=1,a.b=2"],
)
def test_a_bad_string_is_quoted_in_the_message(bad):
    with pytest.raises(BadInput) as caught:
        parse_spec(bad)
    assert repr(bad) in str(caught.value)


@pytest.mark.parametrize("bad", [{}, {"use": 3}, {"rate": 3}])
def test_a_table_without_a_name_is_refused(bad):
    with pytest.raises(BadInput, match='needs use = "NAME"'):
        parse_spec(bad)


@pytest.mark.parametrize("bad", [5, None, ["rls"], 2.5])
def test_what_is_neither_text_nor_table_is_refused(bad):
    with pytest.raises(BadInput, match="expected NAME"):
        parse_spec(bad)


@given(st.text() | st.builds("rls:{}={}".format, st.text(), st.text()))
@example("rls:a=" + "9" * 5000)
@example("rls:a=" + "[" * 5000)
@example("rls:a=2020-02-30")
@example("rls:a=1\nb=2")
def test_random_text_gives_a_spec_or_bad_input(text):
    with contextlib.suppress(BadInput):
        assert isinstance(parse_spec(text), Spec)


@given(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.lists(st.integers(-5, 5))
)
def test_values_come_back_as_what_they_were(value):
    text = repr(value).lower() if isinstance(value, bool) else repr(value)
    got = parse_value(text)
    assert got == value
    assert type(got) is type(value)
