"""The scenario as validated data. Unknown keys are refused; plugin tables stay open.

What a plugin itself takes (`plant`, `excitation`, `estimator`, …) is checked against the plugin
when the scenario is built, not here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from testbed.plants.changes import ALL_KINDS

Bound = Annotated[float, Field(allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1)]
Time = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]


class Table(BaseModel):
    """A table with a fixed set of keys."""

    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)


class PluginTable(Table):
    """`{use = NAME, …}`: the other keys are the plugin's own parameters."""

    model_config = ConfigDict(extra="allow", strict=True, populate_by_name=True)

    use: str

    def params(self) -> dict[str, Any]:
        """The plugin's own parameters."""
        return dict(self.__pydantic_extra__ or {})


class PlantTable(PluginTable):
    """Which robot, what is identified, and how far its truth is from CAD."""

    target: Annotated[list[str], Field(min_length=1)] | None = None
    truth_error: Share = 0.0
    substeps: Annotated[int, Field(gt=0, le=10_000)] | None = None
    mismatch: dict[str, Any] = Field(default_factory=dict)


class PriorTable(Table):
    """Where estimators start: CAD, perturbed by `error` from another stream than the truth's."""

    source: Literal["cad"] = Field("cad", alias="from")
    error: Share = 0.0


class ChangeTable(Table):
    """One event; exactly one of attach, release, scale, ramp, burn, friction, offset."""

    at: Time
    until: Time | None = None
    body: str | None = None
    part: str | None = None
    joint: str | None = None
    channel: str | None = None
    attach: dict[str, Any] | None = None
    release: str | None = None
    scale: float | None = None
    ramp: dict[str, Any] | None = None
    burn: dict[str, Any] | None = None
    friction: dict[str, Any] | None = None
    offset: Any = None

    @model_validator(mode="after")
    def _one_kind(self) -> ChangeTable:
        given = [k for k in ALL_KINDS if getattr(self, k) is not None]
        if len(given) != 1:
            raise ValueError(f"a change needs exactly one of {', '.join(ALL_KINDS)}; got {given}")
        return self

    @property
    def kind(self) -> str:
        """Which of them it is."""
        return next(k for k in ALL_KINDS if getattr(self, k) is not None)


class EstimatorTable(PluginTable):
    """One contender; `name` defaults to `use`, then `use#2` and so on."""

    name: Name | None = None
    inputs: dict[str, str] | None = None


class AcceptRule(Table):
    """A scenario is also a test: the metric of this estimator must stay within bounds."""

    estimator: str
    metric: str
    fails_for: str | None = None  # a worse estimator of the scenario that breaks the rule
    max: Bound | None = None
    min: Bound | None = None

    @model_validator(mode="after")
    def _bounded(self) -> AcceptRule:
        if self.max is None and self.min is None:
            raise ValueError("an accept rule needs max or min")
        if self.max is not None and self.min is not None and self.min > self.max:
            raise ValueError(f"min = {self.min:g} is above max = {self.max:g}: nothing can pass")
        return self


class NoiseTable(Table):
    """`noise.scale` multiplies every random part of every sensor."""

    scale: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] = 1.0


class ValidationTable(Table):
    """A separate, noise-free motion on which final estimates are compared."""

    excitation: PluginTable | None = None
    duration: Annotated[float, Field(gt=0, le=1e4, allow_inf_nan=False)] = 5.0


class ScenarioModel(Table):
    """A whole scenario file."""

    title: str
    duration: Annotated[float, Field(gt=0, le=1e5, allow_inf_nan=False)]
    plant: PlantTable
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    rate: Annotated[float, Field(gt=0, le=1e5, allow_inf_nan=False)] | None = None
    score_hz: Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)] = 10.0
    prior: PriorTable = Field(default_factory=lambda: PriorTable.model_validate({}))
    excitation: PluginTable | None = None
    controller: PluginTable | None = None
    sensors: dict[str, dict[str, Any]] = Field(default_factory=dict)
    noise: NoiseTable = Field(default_factory=lambda: NoiseTable.model_validate({}))
    signals: dict[str, dict[str, dict[str, Any]]] = Field(default_factory=dict)
    process: dict[str, Any] = Field(default_factory=dict)
    validation: ValidationTable | None = None
    regressors: dict[str, PluginTable] = Field(default_factory=dict)
    change: list[ChangeTable] = Field(default_factory=list)
    estimator: list[EstimatorTable] = Field(default_factory=list)
    accept: list[AcceptRule] = Field(default_factory=list)
    metrics: list[str] | None = None
    vary: dict[str, Any] = Field(default_factory=dict)
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _some_samples(self) -> ScenarioModel:
        if self.rate is not None and self.rate * self.duration < 1 - 1e-9:
            raise ValueError(
                f"rate = {self.rate:g} samples a second gives not one sample in "
                f"duration = {self.duration:g} s"
            )
        return self
