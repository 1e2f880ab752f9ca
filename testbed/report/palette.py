"""Colours that people with any colour vision tell apart (after Okabe and Ito), darkest first."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7b5ea7", "#a6761d", "#56b4e9", "#666666")
