"""Whatever a clumsy or a hostile user gives: one clear line that names it, and exit code 2."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

FLYER = 'title = "t"\nduration = 0.02\nplant = { use = "free_flyer" }\n'
ARM = 'title = "t"\nduration = 0.02\nplant = { use = "staubli_arm" }\n'
HUMAN = 'title = "t"\nduration = 0.02\nplant = { use = "human_plate" }\n'
RLS = '[[estimator]]\nuse = "rls"\n'
RULE = FLYER + RLS + '[[accept]]\nestimator = "rls"\nmetric = "com_error_final"\n'


def plant(text: str) -> str:
    return f'title = "t"\nduration = 0.02\nplant = {{ {text} }}\n'


def flyer(text: str) -> str:
    return plant(f'use = "free_flyer", {text}')


def mjcf(text: str) -> str:
    return plant(f'use = "mjcf", {text}')


def duration(text: str) -> str:
    return FLYER.replace("0.02", text)


def sensor(text: str) -> str:
    return ARM + "[sensors]\n" + text


def says(channel: str, key: str, what: str) -> str:
    return rf"sensors\.{channel}[.:] ?{key} {what}"


def change(*lines: str) -> str:
    return "\n".join([FLYER + "[[change]]", *lines])


def attach(text: str) -> str:
    return change("at = 0.01", 'body = "body"', f"attach = {{ {text} }}")


def sphere(text: str) -> str:
    return attach(f"mass = 1.0, sphere = 0.1, {text}")


def burn(text: str) -> str:
    return change("at = 0.01", "until = 0.02", 'body = "body"', f"burn = {{ {text} }}")


def excitation(text: str, base: str = ARM) -> str:
    return base + f"excitation = {{ {text} }}\n"


def controller(text: str, base: str = ARM) -> str:
    return base + f"controller = {{ {text} }}\n"


def estimator(*lines: str) -> str:
    return "\n".join([FLYER + "[[estimator]]", *lines])


def regressor(text: str) -> str:
    return FLYER + f"[regressors.mine]\n{text}\n" + RLS + 'inputs = { eq = "mine" }\n'


# name: (text of the scenario file s.toml, what the line must say after "testbed: s.toml: ")
FILES = {
    # ----- the file itself
    "empty": ("", r"title is missing"),
    "only a comment": ("# later\n", r"title is missing"),
    "broken string": ('title = "t\n', r"not valid TOML: .*line 1"),
    "text": ("once upon a time", r"not valid TOML: .*line 1"),
    "null byte": (FLYER + "\x00", r"not valid TOML: .*line 4"),
    "key twice": (FLYER + FLYER, r"not valid TOML: .*line 4"),
    "table twice": (FLYER + "[prior]\n[prior]\n", r"not valid TOML: .*line 5"),
    "brackets without end": ("a = " + "[" * 3000, r"nested too deeply"),
    "deep list": (sensor("wrench = { std = " + "[" * 60 + "]" * 60 + " }"), r"nested too deeply"),
    "deep table": (flyer("x = " + "{ a = " * 60 + "1" + "}" * 60), r"nested too deeply"),
    "endless number": (FLYER + "seed = " + "9" * 5000, r"not valid TOML"),
    "endless key": (FLYER + "a" * 5000 + " = 1", r"unknown key 'aaa"),
    "line break in a key": (FLYER + '"a\\nb" = 1', r"unknown key 'a\\nb'"),
    "escape in a key": (FLYER + '"\\u001b[31m" = 1', r"unknown key '\\x1b\[31m'"),
    # ----- top level
    "misspelt key": (FLYER + "ratee = 100", r"unknown key 'ratee': did you mean 'rate'\?"),
    "misspelt required": (
        'title = "t"\nduratoin = 1.0\nplant = { use = "free_flyer" }',
        r"unknown key 'duratoin': did you mean 'duration'\?",
    ),
    "table unknown": (FLYER + "[qqqq]\nx = 1", r"unknown key 'qqqq' \(valid: accept, .*title"),
    "no title": ('duration = 1.0\nplant = { use = "free_flyer" }', r"title is missing"),
    "no duration": ('title = "t"\nplant = { use = "free_flyer" }', r"duration is missing"),
    "no plant": ('title = "t"\nduration = 1.0', r"plant is missing"),
    "title a number": (FLYER.replace('"t"', "3"), r"title must be a text in quotes, got 3"),
    "duration a text": (duration('"1"'), r"duration must be a number, got '1'"),
    "duration a switch": (duration("true"), r"duration must be a number, got True"),
    "duration a date": (duration("1979-05-27"), r"duration must be a number"),
    "duration a list": (duration("[1.0]"), r"duration must be a number, got \[1\.0\]"),
    "duration negative": (duration("-1"), r"duration must be greater than 0, got -1"),
    "duration zero": (duration("0"), r"duration must be greater than 0, got 0"),
    "duration nan": (duration("nan"), r"duration must be .*finite.*nan"),
    "duration inf": (duration("inf"), r"duration must be .*inf"),
    "duration endless": (duration("1e300"), r"duration must be less than or equal to 100000"),
    "seed negative": (FLYER + "seed = -1", r"seed must be greater than or equal to 0, got -1"),
    "seed broken": (FLYER + "seed = 1.5", r"seed must be a whole number, got 1\.5"),
    "seed a switch": (FLYER + "seed = true", r"seed must be a whole number, got True"),
    "seed huge": (FLYER + "seed = " + "9" * 40, r"seed must be .*got 9999"),
    "rate zero": (FLYER + "rate = 0", r"rate must be greater than 0, got 0"),
    "rate huge": (FLYER + "rate = 1e9", r"rate must be less than or equal to 100000"),
    "rate too low": (FLYER + "rate = 1e-9", r"rate = 1e-09 .* not one sample in duration"),
    "score_hz zero": (FLYER + "score_hz = 0", r"score_hz must be greater than"),
    "score_hz tiny": (FLYER + "score_hz = 1e-320", r"score_hz must be greater than"),
    "score_hz nan": (FLYER + "score_hz = nan", r"score_hz must be .*nan"),
    "prior from truth": (FLYER + 'prior = { from = "truth" }', r"prior\.from must be 'cad', got"),
    "prior misspelt": (
        FLYER + "prior = { eror = 0.1 }",
        r"prior: unknown key 'eror': did you mean 'error'\?",
    ),
    "prior negative": (FLYER + "prior = { error = -0.1 }", r"prior\.error must be greater .*-0\.1"),
    "prior a text": (FLYER + 'prior = "cad"', r"prior must be a table, got 'cad'"),
    # ----- plant
    "plant a text": (
        'title = "t"\nduration = 1.0\nplant = "free_flyer"',
        r"plant must be a table, got 'free_flyer'",
    ),
    "plant a list": (
        'title = "t"\nduration = 1.0\n[[plant]]\nuse = "free_flyer"',
        r"plant must be a table, got \[",
    ),
    "plant without use": (plant('body = "main"'), r"plant\.use is missing"),
    "plant use a number": (plant("use = 3"), r"plant\.use must be a text in quotes, got 3"),
    "plant misspelt": (plant('use = "free_flier"'), r"unknown plant .*did you mean 'free_flyer'\?"),
    "plant unknown": (plant('use = "zzz"'), r"unknown plant 'zzz' \(valid: cheetah_leg, free_fl"),
    "plant endless": (plant(f'use = "{"z" * 5000}"'), r"unknown plant 'zzz"),
    "plant a file": (plant('use = "x.py:P"'), r"plant\.use: .*'x\.py:P'.*--trust-plugins"),
    "plant key misspelt": (flyer('bdy = "main"'), r"plant 'free_flyer': 'bdy': .*mean 'body'\?"),
    "plant key of ours": (flyer("setup = 3"), r"plant 'free_flyer': 'setup' \(valid: body, fuel"),
    "plant body misspelt": (flyer('body = "mian"'), r"plant\.body: unknown .*did you mean 'main'"),
    "plant body a number": (flyer("body = 3"), r"'free_flyer': body must be a text, got 3"),
    "plant body a list": (flyer('body = ["main"]'), r"'free_flyer': body must be a text, got \["),
    "spin a text": (flyer('spin = "fast"'), r"spin must be a list of numbers, got 'fast'"),
    "spin texts": (flyer('spin = ["1", "2", "3"]'), r"spin must be a list of numbers, got \['1'"),
    "spin switches": (flyer("spin = [true, true, true]"), r"spin must be a list of numbers"),
    "spin ragged": (flyer("spin = [[1], [2, 3], 4]"), r"spin must be a list of numbers, got \[\["),
    "spin a table": (flyer("spin = { x = 1 }"), r"spin must be a list of numbers, got \{"),
    "spin of two": (flyer("spin = [1, 2]"), r"plant\.spin needs three finite numbers, got \[1, 2"),
    "spin infinite": (flyer("spin = [inf, 0, 0]"), r"plant\.spin needs three finite numbers"),
    "fuel a number": (flyer("fuel = 3"), r"fuel must be a table, got 3"),
    "fuel a text": (flyer('fuel = "full"'), r"fuel must be a table, got 'full'"),
    "fuel misspelt": (flyer("fuel = { mas = 1 }"), r"plant\.fuel: unknown key 'mas': .*'mass'"),
    "fuel empty": (flyer("fuel = {}"), r"plant\.fuel\.mass must be a positive number.*got None"),
    "fuel negative": (flyer("fuel = { mass = -1 }"), r"plant\.fuel\.mass must be .*got -1"),
    "fuel a switch": (flyer("fuel = { mass = true }"), r"plant\.fuel\.mass must be .*got True"),
    "fuel isp tiny": (flyer("fuel = { mass = 0.1, isp = 1e-300 }"), r"plant\.fuel\.isp must be"),
    "fuel too much": (flyer("fuel = { mass = 100 }"), r"'body' cannot hold 100 kg of fuel"),
    "fuel tank radius": (
        flyer('fuel = { mass = 0.1, tank = { radius = "wide" } }'),
        r"tank\.radius must be positive.*got 'wide'",
    ),
    "fuel tank com": (
        flyer('fuel = { mass = 0.1, tank = { com = ["a", "b", "c"] } }'),
        r"tank\.com needs three numbers",
    ),
    "fuel tank com nan": (
        flyer("fuel = { mass = 0.1, tank = { com = [nan, 0, 0] } }"),
        r"tank\.com needs three numbers",
    ),
    "fuel tank axis": (
        flyer('fuel = { mass = 0.1, tank = { axis = ["x"] } }'),
        r"tank\.axis must be 'x', 'y' or 'z', got \['x'\]",
    ),
    "measure unknown": (
        plant('use = "staubli_arm", measure = "torque"'),
        r"plant\.measure: unknown measurement 'torque': did you mean 'joint_torque'\?",
    ),
    "measure a list": (
        plant('use = "staubli_arm", measure = ["wrench"]'),
        r"measure must be a text, got \['wrench'\]",
    ),
    "target misspelt": (
        plant('use = "staubli_arm", target = ["paylod"]'),
        r"plant\.target: unknown body 'paylod': did you mean 'payload'\?",
    ),
    "target a text": (
        plant('use = "staubli_arm", target = "payload"'),
        r"plant\.target must be a list, got 'payload'",
    ),
    "target numbers": (plant('use = "staubli_arm", target = [1]'), r"plant\.target\.0 must be a t"),
    "target empty": (plant('use = "staubli_arm", target = []'), r"plant\.target .*not empty"),
    "target twice": (
        plant('use = "staubli_arm", target = ["payload", "payload"]'),
        r"plant\.target names a body twice",
    ),
    "target that the sensor does not carry": (
        plant('use = "staubli_arm", target = ["link1"]'),
        r"plant\.target: the wrist sensor carries 'payload', not \['link1'\]",
    ),
    "substeps zero": (flyer("substeps = 0"), r"plant\.substeps must be greater than 0"),
    "substeps broken": (flyer("substeps = 1.5"), r"plant\.substeps must be a whole number"),
    "truth_error large": (flyer("truth_error = 3.0"), r"plant\.truth_error must be less"),
    "truth_error nan": (flyer("truth_error = nan"), r"plant\.truth_error must be .*nan"),
    # ----- models
    "model missing": (plant('use = "mjcf"'), r"plant\.model is missing: .*my\.xml"),
    "model nowhere": (mjcf('model = "nope.xml"'), r"no model 'nope\.xml'.*valid is"),
    "model misspelt": (mjcf('model = "staubli_amr"'), r"no model .*did you mean 'staubli_arm'"),
    "model a number": (mjcf("model = 3"), r"model must be a text, got 3"),
    "model a list": (mjcf('model = ["ok.xml"]'), r"model must be a text, got \["),
    "model broken": (mjcf('model = "broken.xml"'), r".*broken\.xml: MuJoCo cannot read this model"),
    "model empty": (mjcf('model = "empty.xml"'), r".*empty\.xml: MuJoCo cannot read this model"),
    "model a web page": (mjcf('model = "page.xml"'), r".*page\.xml: MuJoCo cannot read this model"),
    "model not text": (mjcf('model = "bytes.xml"'), r"the model file .*bytes\.xml.*cannot be read"),
    "model a folder": (mjcf('model = "folder.xml"'), r"model 'folder\.xml' is a folder"),
    "model null byte": (mjcf('model = "a\\u0000b.xml"'), r"no model 'a\\x00b\.xml'"),
    "model endless": (mjcf(f'model = "{"a" * 5000}.xml"'), r"no model 'aaa"),
    "model without joints": (mjcf('model = "still.xml"'), r".*still\.xml: the model has no joints"),
    "model without mass": (mjcf('model = "massless.xml"'), r".*massless\.xml: MuJoCo cannot comp"),
    "model nan": (mjcf('model = "nan.xml"'), r".*nan\.xml: the model has numbers that are not f"),
    "model negative mass": (mjcf('model = "neg.xml"'), r".*neg\.xml: MuJoCo .*negative"),
    "model with springs": (mjcf('model = "spring.xml"'), r".*spring\.xml: the model has joint spr"),
    "model includes itself": (mjcf('model = "self.xml"'), r".*self\.xml: .*already included"),
    "model without mesh": (mjcf('model = "mesh.xml"'), r".*mesh\.xml: .*nope\.stl"),
    "urdf broken": (mjcf('model = "broken.urdf"'), r".*broken\.urdf: MuJoCo cannot read this mo"),
    "urdf without joints": (mjcf('model = "still.urdf"'), r".*still\.urdf: the model has no join"),
    "site missing": (mjcf('model = "ok.xml", measure = "wrench"'), r"plant\.site is missing"),
    "site misspelt": (
        mjcf('model = "ok.xml", measure = "wrench", site = "wrst"'),
        r"plant\.site: unknown site 'wrst': did you mean 'wrist'\?",
    ),
    "site a number": (mjcf('model = "ok.xml", site = 3'), r"site must be a text, got 3"),
    "site on the world": (
        mjcf('model = "ok.xml", measure = "wrench", site = "ground"'),
        r"plant\.site: 'ground' is fixed to the world",
    ),
    "home too long": (mjcf('model = "ok.xml", home = [1, 2, 3]'), r"plant\.home needs 1 finite"),
    "home a text": (
        mjcf('model = "ok.xml", home = "up"'),
        r"home must be a list of numbers, got '",
    ),
    "speed a text": (mjcf('model = "ok.xml", speed = "slow"'), r"speed must be a number, got 'sl"),
    "speed negative": (mjcf('model = "ok.xml", speed = -1'), r"plant\.speed must be positive"),
    "model's body": (mjcf('model = "ok.xml", target = ["tol"]'), r"plant\.target: .*mean 'tool'"),
    # ----- sensors
    "channel misspelt": (sensor("wrnch = { std = 1 }"), r"sensors: unknown .*mean 'wrench'\?"),
    "sensor a number": (sensor("wrench = 3"), r"sensors\.wrench must be a table, got 3"),
    "sensors a list": (ARM + "sensors = [1]", r"sensors must be a table, got \[1\]"),
    "noise misspelt": (
        sensor('wrench = { noise = "whit", std = 1 }'),
        r"sensors\.wrench: unknown noise 'whit': did you mean 'white'\?",
    ),
    "noise a number": (
        sensor("wrench = { noise = 3 }"),
        r"sensors\.wrench[.:] ?noise must be the name",
    ),
    "noise a file": (
        sensor('gyro = { noise = "x.py:N" }'),
        r"sensors\.gyro\.noise: .*--trust-plug",
    ),
    "noise without std": (sensor('wrench = { noise = "white" }'), r"sensors\.wrench: .*needs std"),
    "sensor key misspelt": (
        sensor("wrench = { std = 1, dely = 0.1 }"),
        r"sensors\.wrench: unknown key 'dely': did you mean 'delay'\?",
    ),
    "std of two": (sensor("wrench = { std = [1, 2] }"), says("wrench", "std", ".*6")),
    "std of none": (sensor("wrench = { std = [] }"), says("wrench", "std", ".*6")),
    "std ragged": (sensor("wrench = { std = [[1], 2] }"), says("wrench", "std", ".*6")),
    "std negative": (sensor("wrench = { std = -1 }"), says("wrench", "std", ".*got -1")),
    "std nan": (sensor("wrench = { std = nan }"), says("wrench", "std", ".*got nan")),
    "std huge": (sensor("wrench = { std = 1e308 }"), says("wrench", "std", ".*1e.?308")),
    "std a text": (sensor('wrench = { std = "1" }'), says("wrench", "std", ".*got '1'")),
    "std a switch": (sensor("wrench = { std = true }"), says("wrench", "std", ".*got True")),
    "std a table": (sensor("wrench = { std = { x = 1 } }"), says("wrench", "std", ".*got {")),
    "walk a text": (
        sensor('gyro = { noise = "bias_walk", walk = "far" }'),
        says("gyro", "walk", ".*got 'far'"),
    ),
    "delay negative": (sensor("wrench = { delay = -1 }"), says("wrench", "delay", ".*got -1")),
    "delay a text": (sensor('wrench = { delay = "late" }'), says("wrench", "delay", ".*'late'")),
    "delay a switch": (sensor("wrench = { delay = true }"), says("wrench", "delay", ".*got True")),
    "delay nan": (sensor("wrench = { delay = nan }"), says("wrench", "delay", ".*got nan")),
    "delay endless": (sensor("wrench = { delay = 1e9 }"), says("wrench", "delay", ".*1000000000")),
    "bias of two": (sensor("wrench = { bias = [1, 2] }"), says("wrench", "bias", ".*6")),
    "bias infinite": (sensor("wrench = { bias = inf }"), says("wrench", "bias", ".*got inf")),
    "bias a text": (sensor('wrench = { bias = "left" }'), says("wrench", "bias", ".*'left'")),
    "limit negative": (sensor("wrench = { limit = -1 }"), says("wrench", "limit", ".*got -1")),
    "limit nan": (sensor("wrench = { limit = nan }"), says("wrench", "limit", ".*got nan")),
    # ----- changes
    "change a table": (FLYER + "[change]\nat = 1.0", r"change must be a list: write \[\[change"),
    "change of no kind": (change("at = 0.01"), r"change\.0: .*exactly one of attach, release, sc"),
    "change of two kinds": (
        change("at = 0.01", 'body = "body"', "scale = 2.0", "ramp = { mass = 3.0 }"),
        r"change\.0: .*exactly one of .*\['scale', 'ramp'\]",
    ),
    "change kind misspelt": (
        change("at = 0.01", 'body = "body"', "atach = { mass = 1.0 }"),
        r"change\.0: unknown key 'atach': did you mean 'attach'\?",
    ),
    "change after the end": (
        change("at = 5.0", 'body = "body"', "scale = 2.0"),
        r"change\.0\.at = 5 s comes after the end of the run \(0\.02 s\)",
    ),
    "change before the start": (change("at = -1.0", 'release = "x"'), r"change\.0\.at must be gr"),
    "change at nan": (change("at = nan", 'release = "x"'), r"change\.0\.at must be .*nan"),
    "change at a text": (change('at = "noon"', 'release = "x"'), r"change\.0\.at must be a number"),
    "change without time": (change('release = "x"'), r"change\.0\.at is missing"),
    "change of no body": (change("at = 0.01", "scale = 2.0"), r"change\.0: say which body"),
    "change of a stranger": (
        change("at = 0.01", 'body = "bdy"', "scale = 2.0"),
        r"change\.0\.body: unknown body 'bdy': did you mean 'body'\?",
    ),
    "until before at": (
        change("at = 0.01", "until = 0.005", 'body = "body"', "scale = 2.0"),
        r"change\.0\.until must come after at = 0\.01, got 0\.005",
    ),
    "scale zero": (change("at = 0.01", 'body = "body"', "scale = 0.0"), r"change\.0\.scale must b"),
    "scale nan": (change("at = 0.01", 'body = "body"', "scale = nan"), r"change\.0\.scale must be"),
    "scale huge": (change("at = 0.01", 'body = "body"', "scale = 1e308"), r"change\.0\.scale must"),
    "scale a text": (
        change("at = 0.01", 'body = "body"', 'scale = "2"'),
        r"change\.0\.scale must be a number, got '2'",
    ),
    "ramp misspelt": (
        change("at = 0.01", 'body = "body"', "ramp = { mass = 3.0, mas = 2.0 }"),
        r"change\.0\.ramp: unknown key 'mas': did you mean 'mass'\?",
    ),
    "ramp a number": (
        change("at = 0.01", 'body = "body"', "ramp = 3.0"),
        r"change\.0\.ramp must be a table, got 3\.0",
    ),
    "burn without end": (
        change("at = 0.01", 'body = "body"', "burn = { mass = 0.1 }"),
        r"change\.0: a burn takes time; say until when",
    ),
    "burn a text": (burn('mass = "all"'), r"change\.0\.burn\.mass must be a positive .*'all'"),
    "burn too much": (burn("mass = 100.0"), r"change\.0: 'body' cannot hold 100 kg of fuel"),
    "burn tank": (burn('mass = 0.1, tank = { radius = "r" }'), r"change\.0: tank\.radius must be"),
    "burn tank com": (
        burn("mass = 0.1, tank = { com = [1] }"),
        r"change\.0: tank\.com needs three",
    ),
    "release of nothing": (change("at = 0.01", 'release = "x"'), r"change\.0: .*release: 'x'"),
    "release a number": (change("at = 0.01", "release = 3"), r"change\.0\.release must be a text"),
    "part unknown": (
        change("at = 0.01", 'body = "body"', 'part = "box"', "scale = 2.0"),
        r"change\.0: unknown part of 'body': 'box'",
    ),
    "attach a number": (
        change("at = 0.01", 'body = "body"', "attach = 3"),
        r"change\.0\.attach must be a table, got 3",
    ),
    "attach impossible inertia": (
        attach("mass = 1.0, inertia = [0.1, 0.1, 0.5, 0, 0, 0]"),
        r"change\.0\.attach: .*not those of a possible body.*triangle",
    ),
    "attach negative mass": (attach("mass = -1.0, sphere = 0.1"), r"change\.0\.attach\.mass must"),
    "attach no mass": (attach("sphere = 0.1"), r"change\.0\.attach\.mass must be a number"),
    "attach mass a text": (attach('mass = "1", sphere = 0.1'), r"change\.0\.attach\.mass .*'1'"),
    "attach mass a switch": (
        attach("mass = true, sphere = 0.1"),
        r"change\.0\.attach\.mass .*True",
    ),
    "attach mass nan": (attach("mass = nan, sphere = 0.1"), r"change\.0\.attach\.mass .*nan"),
    "attach mass huge": (attach("mass = 1e308, sphere = 0.1"), r"change\.0\.attach\.mass .*1e\+30"),
    "attach size huge": (attach("mass = 1.0, sphere = 1e200"), r"change\.0\.attach\.sphere .*1e\+"),
    "attach size tiny": (
        attach("mass = 1.0, sphere = 1e-200"),
        r"change\.0\.attach: .*possible bo",
    ),
    "attach com far": (sphere("com = [1e200, 0, 0]"), r"change\.0\.attach\.com .*1e\+200"),
    "attach com of two": (sphere("com = [0, 0]"), r"change\.0\.attach\.com must be 3 finite"),
    "attach no shape": (attach("mass = 1.0"), r"change\.0\.attach needs exactly one shape of box"),
    "attach misspelt": (
        attach("mass = 1.0, spere = 0.1"),
        r"change\.0\.attach: unknown key 'spere': did you mean 'sphere'\?",
    ),
    "attach name a number": (sphere("name = 3"), r"change\.0\.attach\.name must be a text, got 3"),
    "attach name a list": (sphere('name = ["a"]'), r"change\.0\.attach\.name must be a text"),
    "attach name empty": (sphere('name = ""'), r"change\.0\.attach\.name must be a text, got ''"),
    "attach velocity": (sphere('velocity = "stop"'), r"change\.0\.attach\.velocity: .*match, rest"),
    "attach velocity texts": (
        sphere('velocity = ["a", "b", "c"]'),
        r"change\.0\.attach\.velocity must be .*3 or 6 numbers",
    ),
    "attach velocity ragged": (
        sphere("velocity = [[1], 2, 3]"),
        r"change\.0\.attach\.velocity must be .*3 or 6 numbers",
    ),
    "attach cylinder": (
        attach("mass = 1.0, cylinder = { radius = 0.1 }"),
        r"change\.0\.attach\.cylinder must be \{radius, length, axis\}",
    ),
    "attach cylinder axis": (
        attach('mass = 1.0, cylinder = { radius = 0.1, length = 0.1, axis = ["x"] }'),
        r"change\.0\.attach\.cylinder\.axis must be 'x', 'y' or 'z'",
    ),
    "attach with end": (
        change("at = 0.01", "until = 0.02", 'body = "body"', "attach = { mass = 1, sphere = 1 }"),
        r"change\.0: attach happens at once; leave out until",
    ),
    "attach to a rotor": (
        plant('use = "cheetah_leg"')
        + '[[change]]\nat = 0.01\nbody = "hip_rotor"\nattach = { mass = 1.0, sphere = 0.1 }',
        r"change\.0\.body: the rotor 'hip_rotor' .*choose one of abad_link",
    ),
    # ----- excitation and controller
    "excitation a number": (ARM + "excitation = 3", r"excitation must be a table, got 3"),
    "excitation without use": (excitation("base_hz = 1"), r"excitation\.use is missing"),
    "excitation misspelt": (excitation('use = "forier"'), r"unknown excitation .*mean 'fourier'\?"),
    "excitation a file": (excitation('use = "x.py:E"'), r"excitation\.use: .*--trust-plugins"),
    "excitation key": (
        excitation('use = "fourier", base = 1'),
        r".*'base': did you mean 'base_hz'",
    ),
    "excitation key of ours": (excitation('use = "fourier", plan = 1'), r".*'fourier': 'plan'"),
    "base_hz a text": (
        excitation('use = "fourier", base_hz = "a"'),
        r"excitation 'fourier': base_hz must be a number, got 'a'",
    ),
    "base_hz negative": (excitation('use = "fourier", base_hz = -1'), r"excitation\.base_hz must"),
    "base_hz nan": (excitation('use = "fourier", base_hz = nan'), r".*base_hz must be a number, g"),
    "harmonics broken": (
        excitation('use = "fourier", harmonics = 0.5'),
        r"excitation 'fourier': harmonics must be a whole number, got 0\.5",
    ),
    "harmonics many": (excitation('use = "fourier", harmonics = 9999'), r"excitation\.harmonics m"),
    "amplitude two": (excitation('use = "fourier", amplitude = 2'), r"excitation\.amplitude must"),
    "lead_in infinite": (excitation('use = "fourier", lead_in = inf'), r"excitation\.lead_in must"),
    "lead_in huge": (excitation('use = "fourier", lead_in = 1e300'), r"excitation\.lead_in must l"),
    "forces for an arm": (
        excitation('use = "multisine"'),
        r"excitation\.use = 'multisine' plans force motions; staubli_arm needs",
    ),
    "motions for an arm": (
        excitation('use = "motions"'),
        r"excitation\.use = 'motions' .*human_pl",
    ),
    "motion unknown": (
        excitation('use = "motions", names = ["squad"]', HUMAN),
        r"unknown motion 'squad': did you mean 'squat'\?",
    ),
    "motions a text": (
        excitation('use = "motions", names = "squat"', HUMAN),
        r"excitation 'motions': names must be a list of texts, got 'squat'",
    ),
    "motions none": (
        excitation('use = "motions", names = []', HUMAN),
        r"excitation\.names is empt",
    ),
    "motions too fast": (
        excitation('use = "motions", seconds = 1e-300', HUMAN),
        r"duration of motion 'squat' must lie in",
    ),
    "motions too wild": (
        excitation('use = "motions", amplitude = 1e300', HUMAN),
        r"amplitude of motion 'squat' must lie in",
    ),
    "controller misspelt": (controller('use = "traking"'), r"unknown controller .*mean 'tracking'"),
    "controller key": (controller('use = "tracking", band = 1'), r".*'band': .*mean 'bandwidth'\?"),
    "controller key of ours": (controller('use = "tracking", drive = 1'), r".*'tracking': 'drive'"),
    "bandwidth a text": (
        controller('use = "tracking", bandwidth = "a"'),
        r"controller 'tracking': bandwidth must be a number, got 'a'",
    ),
    "bandwidth negative": (
        controller('use = "tracking", bandwidth = -1'),
        r"controller\.bandwidth must lie in",
    ),
    "tracking a free body": (
        controller('use = "tracking"', FLYER),
        r"controller\.use = 'tracking' moves driven joints, and this plant has none",
    ),
    "driving a person": (
        controller('use = "open_loop"', HUMAN),
        r"controller\.use = 'open_loop' n",
    ),
    # ----- estimators, regressors, rules
    "estimator a table": (
        FLYER + '[estimator]\nuse = "rls"',
        r"estimator must be a list: write \[\[estimator\]\], got",
    ),
    "estimator a text": (FLYER + 'estimator = ["rls"]', r"estimator\.0 must be a table, got 'rls'"),
    "estimator misspelt": (
        estimator('use = "rsl"'),
        r"estimator\.0: unknown estimator 'rsl': did you mean 'rls'\?",
    ),
    "estimator a file": (
        estimator('use = "x.py:A"'),
        r"estimator\.0: .*'x\.py:A'.*--trust-plugins",
    ),
    "estimator key": (
        estimator('use = "rls"', "forgeting = 0.9"),
        r"estimator\.0: .*'forgeting': did you mean 'forgetting'\?",
    ),
    "estimator name": (estimator('use = "rls"', "name = 3"), r"estimator\.0\.name must be a text"),
    "estimator no name": (
        estimator('use = "rls"', 'name = ""'),
        r"estimator\.0\.name must be .*''",
    ),
    "prior_std a text": (
        estimator('use = "rls"', 'prior_std = "wide"'),
        r"estimator\.0: estimator 'rls': prior_std must be a number, got 'wide'",
    ),
    "forgetting two": (
        estimator('use = "rls"', "forgetting = 2"),
        r"estimator\.0: forgetting\.rat",
    ),
    "forgetting a switch": (
        estimator('use = "rls"', "forgetting = true"),
        r"estimator\.0: forgetting must be a rate, a name or a table, got True",
    ),
    "forgetting misspelt": (
        estimator('use = "rls"', 'forgetting = "exponental"'),
        r"estimator\.0: unknown forgetting rule .*did you mean 'exponential'\?",
    ),
    "forgetting without use": (
        estimator('use = "rls"', "forgetting = { rate = 0.9 }"),
        r'estimator\.0: a plugin table needs use = "NAME"',
    ),
    "forgetting rate a text": (
        estimator('use = "rls"', 'forgetting = { use = "exponential", rate = "slow" }'),
        r"estimator\.0: .*rate must be a number, got 'slow'",
    ),
    "inputs a text": (
        estimator('use = "rls"', 'inputs = "x"'),
        r"estimator\.0\.inputs must be a t",
    ),
    "port misspelt": (
        estimator('use = "rls"', 'inputs = { qe = "@measured" }'),
        r"estimator\.0: inputs: unknown port 'qe' \(valid: eq\)",
    ),
    "port missing": (
        estimator('use = "rls"', "inputs = {}"),
        r"estimator\.0: inputs: the port 'eq'",
    ),
    "signal group misspelt": (
        estimator('use = "rls"', 'inputs = { eq = "@mesured" }'),
        r".*port 'eq': unknown signal group 'mesured': did you mean 'measured'\?",
    ),
    "regressor misspelt": (
        estimator('use = "rls"', 'inputs = { eq = "joint_torqe" }'),
        r"unknown regressor 'joint_torqe': did you mean 'joint_torque' or 'drive_torque'\?",
    ),
    "regressor table unknown": (
        regressor('use = "free_bod"'),
        r"regressors\.mine: unknown regressor 'free_bod': did you mean 'free_body'\?",
    ),
    "regressor table unused": (
        FLYER + '[regressors.mine]\nuse = "free_bod"',
        r"regressors\.mine: unknown regressor 'free_bod'",
    ),
    "regressor key": (
        regressor('use = "free_body"\nstrde = 3'),
        r"regressors\.mine: unknown parameter of regressor 'free_body': 'strde'",
    ),
    "regressors a number": (FLYER + "regressors = 3", r"regressors must be a table, got 3"),
    "metric unknown": (
        RULE.replace("com_error_final", "com_error") + "max = 1",
        r"accept\.0: unknown metric 'com_error': did you mean 'com_error_final'",
    ),
    "rule about a stranger": (
        RULE.replace('estimator = "rls"', 'estimator = "rl"') + "max = 1",
        r"accept\.0: unknown estimator 'rl': did you mean 'rls'\?",
    ),
    "rule without bound": (RULE, r"accept\.0: an accept rule needs max or min"),
    "rule nan": (RULE + "max = nan", r"accept\.0\.max must be .*finite.*nan"),
    "rule a text": (RULE + 'max = "low"', r"accept\.0\.max must be a number, got 'low'"),
    "rule nothing passes": (RULE + "min = 2\nmax = 1", r"accept\.0: min = 2 is above max = 1"),
    "rule misspelt": (RULE + "mx = 1", r"accept\.0: unknown key 'mx': did you mean 'max'\?"),
}

BODY = '<geom size="0.1" mass="1"/>'
MODELS: dict[str, str | bytes] = {
    "ok.xml": '<mujoco><worldbody><site name="ground"/><body name="link">'
    f'<joint name="j"/>{BODY}<body name="tool" pos="0 0 1">{BODY}<site name="wrist"/></body>'
    "</body></worldbody></mujoco>",
    "broken.xml": "<mujoco><worldbody>",
    "empty.xml": "",
    "page.xml": "<html><body>404</body></html>",
    "bytes.xml": b"\xff\xfe<mujoco/>",
    "still.xml": f'<mujoco><worldbody><body name="a">{BODY}</body></worldbody></mujoco>',
    "massless.xml": '<mujoco><worldbody><body name="a"><joint/></body></worldbody></mujoco>',
    "nan.xml": f'<mujoco><worldbody><body pos="nan 0 0"><joint/>{BODY}</body></worldbody></mujoco>',
    "neg.xml": '<mujoco><worldbody><body><joint/><geom size="1" mass="-1"/></body></worldbody>'
    "</mujoco>",
    "spring.xml": f'<mujoco><worldbody><body><joint stiffness="3"/>{BODY}</body></worldbody>'
    "</mujoco>",
    "self.xml": '<mujoco><include file="self.xml"/></mujoco>',
    "mesh.xml": '<mujoco><asset><mesh name="m" file="nope.stl"/></asset><worldbody><body><joint/>'
    '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>',
    "broken.urdf": "<robot name='r'><link>",
    "still.urdf": '<robot name="r"><link name="base"/></robot>',
}


def refused(outcome, message: str) -> None:
    """Exit code 2, nothing on stdout, exactly one line on stderr that says this."""
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert outcome.err.endswith("\n")
    assert outcome.err.count("\n") == 1, outcome.err
    assert "Traceback" not in outcome.err
    assert len(outcome.err) < 1100
    assert re.match(f"testbed: {message}", outcome.err), outcome.err


@pytest.mark.parametrize("case", FILES)
def test_a_bad_scenario_is_refused_by_name(case, cli, folder: Path):
    text, message = FILES[case]
    (folder / "s.toml").write_text(text)
    if "mjcf" in text:
        (folder / "folder.xml").mkdir()
        for name, content in MODELS.items():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(cli("run", "s.toml", "--json"), rf"s\.toml: .*{message}")
    assert not (folder / "MUJOCO_LOG.TXT").exists()


PLUGINS = {
    "syntax.py": "class A(:\n",
    "raises.py": "raise RuntimeError('boom\\nand more')\n",
    "exits.py": "import sys\nsys.exit(3)\n",
    "imports.py": "import nowhere_to_be_found\n",
    "other.py": "class Other:\n    pass\n",
    "number.py": "A = 3\n",
    "needs.py": "class A:\n    def __init__(self, rate: float): pass\n",
    "refuses.py": "class A:\n    def __init__(self): raise ValueError('no way')\n",
    "leaves.py": "import sys\nclass A:\n    def __init__(self): sys.exit(5)\n",
    "idle.py": "class A:\n    inputs = {'eq': ''}\n",
    "deaf.py": "class A:\n    def reset(self, problem): pass\n    def update(self, eq): pass\n",
    "ports.py": "class A:\n    inputs = {3: ''}\n"
    "    def reset(self, problem): pass\n    def update(self, **ports): pass\n",
    "reset.py": "class A:\n    inputs = {'eq': ''}\n"
    "    def reset(self, problem): raise RuntimeError('not yet')\n    def update(self, eq): pass\n",
}

# name: (arguments, what the line must say after "testbed: ")
ARGUMENTS = {
    "unknown command": (["rn"], r"No such command 'rn'\. Did you mean 'run'\?"),
    "unknown option": (["run", "ok.toml", "--sed", "3"], r"No such option: --sed .*--seed"),
    "no scenario": (["run"], r"Missing argument 'scenario'"),
    "two scenarios": (["run", "ok.toml", "ok.toml"], r"Got unexpected extra argument"),
    "scenario misspelt": (["run", "arm_gras"], r"no scenario 'arm_gras'.*did you mean 'arm_grasp'"),
    "scenario nowhere": (["run", "nope.toml"], r"no scenario 'nope\.toml'.*valid is one of"),
    "scenario empty": (["run", ""], r"the name of the scenario is empty"),
    "scenario a folder": (["run", "folder.toml"], r"scenario 'folder\.toml' is a folder"),
    "scenario null byte": (["run", "a\x00b"], r"no scenario 'a\\x00b'"),
    "scenario endless": (["run", "x" * 5000], r"no scenario 'xxx"),
    "scenario of nobody": (["run", "~nobody/x.toml"], r"no scenario '~nobody/x\.toml'"),
    "scenario not text": (["run", "bytes.toml"], r"bytes\.toml: not a UTF-8 text file"),
    "seed negative": (["run", "ok.toml", "--seed", "-1"], r"seed must be .*got -1"),
    "seed a text": (["run", "ok.toml", "--seed", "x"], r"Invalid value for '--seed'"),
    "timeout zero": (["run", "ok.toml", "--plugin-timeout", "0"], r"plugin timeout must be posit"),
    "timeout nan": (["run", "ok.toml", "--plugin-timeout", "nan"], r"plugin timeout must be posit"),
    "timeout a text": (["run", "ok.toml", "--plugin-timeout", "x"], r"Invalid value for '--plugi"),
    "only nobody": (["run", "ok.toml", "--only"], r"--only keeps .*name at least one"),
    "out a file": (["run", "ok.toml", "--out", "file"], r"--out 'file' is a file: name a folder"),
    "out in a file": (["run", "ok.toml", "--out", "file/x"], r"--out: cannot write to 'file/x'"),
    "record a folder": (["run", "ok.toml", "--record", "folder.toml"], r"--record .* is a folder"),
    "record nothing": (["run", "ok.toml", "--record", ""], r"--record '\.' is a folder"),
    "record in a file": (["run", "ok.toml", "--record", "file/x"], r"--record: cannot write to"),
    "no kind": (["list"], r"Missing argument 'kind'"),
    "kind misspelt": (["list", "plant"], r"unknown kind 'plant': did you mean 'plants'\?"),
    "kind unknown": (["list", "xyz"], r"unknown kind 'xyz' \(valid: controllers, .*scenarios\)"),
    "unknown subcommand": (["scenario", "sho"], r"No such command 'sho'\. Did you mean 'show'\?"),
    "show nothing": (["scenario", "show", "nope"], r"no scenario 'nope'"),
    "show rubbish": (["scenario", "show", "bytes.toml"], r"bytes\.toml: not a UTF-8 text file"),
}
SPECS = {
    "": r"cannot read '': expected NAME or file\.py:Class",
    ":": r"cannot read ':': expected NAME",
    "rls;x": r"cannot read 'rls;x': expected NAME",
    "nope.py": r"cannot read 'nope\.py': expected NAME or file\.py:Class",
    "rsl": r"unknown estimator 'rsl': did you mean 'rls'\?",
    "rls:forgetting": r"cannot read 'forgetting' in 'rls:forgetting': expected key=value",
    "rls:=3": r"cannot read '=3' in 'rls:=3': expected key=value",
    "rls:forgetting=": r"estimator 'rls:forgetting=': cannot read ''",
    "rls:forgetting=2": r"estimator 'rls:forgetting=2': forgetting\.rate must lie in",
    "rls:forgeting=0.9": r"estimator .*'forgeting': did you mean 'forgetting'\?",
    "rls:prior_std=wide": r"estimator .*prior_std must be a number, got 'wide'",
    "rls:prior_std=nan": r"estimator .*prior_std must be a number, got nan",
    "rls:forgetting=0.9,forgetting.rate=0.5": r".*'forgetting' is a value",
    "nope.py:A": r"the estimator file 'nope\.py' does not exist",
    "folder.py:A": r"the estimator file 'folder\.py' does not exist",
    "a\x00b.py:A": r"the estimator file 'a\\x00b\.py' does not exist",
    "syntax.py:A": r"the estimator file 'syntax\.py' cannot be imported: SyntaxError: .*line 1",
    "raises.py:A": r"the estimator file 'raises\.py' cannot be imported: RuntimeError: boom and m",
    "exits.py:A": r"the estimator file 'exits\.py' cannot be imported: SystemExit: 3",
    "imports.py:A": r"the estimator file 'imports\.py' cannot be .*'nowhere_to_be_found'",
    "other.py:Othr": r"other\.py: unknown class 'Othr': did you mean 'Other'\?",
    "number.py:A": r"'number\.py:A' is not a class",
    "needs.py:A": r"estimator 'needs\.py:A' needs rate",
    "needs.py:A:rat=1": r"estimator .*'rat': did you mean 'rate'\?",
    "needs.py:A:rate=fast": r"estimator .*rate must be a number, got 'fast'",
    "refuses.py:A": r"estimator 'refuses\.py:A' cannot be made: ValueError: no way",
    "leaves.py:A": r"estimator 'leaves\.py:A' cannot be made: SystemExit: 5",
    "idle.py:A": r".*estimator 'A' has no method reset\(\)",
    "deaf.py:A": r".*estimator 'A' needs inputs",
    "ports.py:A": r".*a port is named by a text, got 3",
    "reset.py:A": r".*estimator 'A' cannot be reset: RuntimeError: not yet",
}
ARGUMENTS |= {
    f"estimator {spec!r}": (["run", "ok.toml", "--estimator", spec], message)
    for spec, message in SPECS.items()
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_bad_arguments_are_refused_by_name(case, cli, folder: Path):
    arguments, message = ARGUMENTS[case]
    (folder / "ok.toml").write_text(FLYER + RLS)
    (folder / "bytes.toml").write_bytes(b'title = "\xff\xfe"\n')
    (folder / "file").write_text("here already")
    for name in ("folder.toml", "folder.py"):
        (folder / name).mkdir()
    for name, content in PLUGINS.items():
        (folder / name).write_text(content)
    before = set(folder.rglob("*"))
    refused(cli(*arguments), message)
    left = {p for p in set(folder.rglob("*")) - before if "__pycache__" not in p.parts}
    assert not left, "a refused run leaves nothing behind"


def test_a_file_that_may_not_be_read_is_refused(cli, folder: Path, monkeypatch):
    (folder / "s.toml").write_text(FLYER)
    (folder / "s.toml").chmod(0)
    if os.access(folder / "s.toml", os.R_OK):  # as root: nothing is forbidden

        def forbid(self, *args, **kwargs):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "read_text", forbid)
    refused(cli("run", "s.toml"), r"s\.toml: cannot be read: Permission denied")


def test_a_folder_that_may_not_be_written_is_refused_before_the_run(cli, folder: Path, monkeypatch):
    (folder / "s.toml").write_text(FLYER)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr("testbed.harness.session.Session.__init__", None)  # a run fails loudly
    refused(cli("run", "s.toml", "--out", "new/result"), r"--out: cannot write to 'new/result': .*")
    refused(
        cli("run", "s.toml", "--record", "log.npz"), r"--record: cannot write to '\.': .*may no"
    )


def test_debug_shows_where_it_happened(cli, folder: Path):
    (folder / "s.toml").write_text(FLYER + "ratee = 100")
    with pytest.raises(Exception, match="did you mean 'rate'"):
        cli("run", "s.toml", "--debug")


def test_a_mark_of_a_windows_editor_is_no_mistake(cli, folder: Path):
    (folder / "s.toml").write_bytes(b"\xef\xbb\xbf" + FLYER.replace("\n", "\r\n").encode())
    assert cli("run", "s.toml", "--json").code == 0
