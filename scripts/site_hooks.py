"""What mkdocs does to pages that are plain Markdown first (see mkdocs.yml)."""

import re

_FENCE = re.compile(r"^```(\w+)(?: file=(\S+))?((?: \w+)*)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: object) -> str:
    """```python file=my_rls.py becomes a block with that title; words for the tests go."""

    def fence(match: re.Match[str]) -> str:
        kind, file, _ = match.groups()
        return f'```{kind} title="{file}"' if file else f"```{kind}"

    return _FENCE.sub(fence, markdown)
