"""Estimators that do what no estimator should, at their third update."""

import ctypes
import os
import sys

import numpy as np

from testbed import Estimate


class Base:
    inputs = {"eq": "@measured"}  # noqa: RUF012

    def reset(self, problem):
        self.theta, self.n = problem.prior.copy(), 0

    def update(self, eq):
        self.n += 1
        return self.act() if self.n == 3 else Estimate(self.theta)


class Raises(Base):
    def act(self):
        raise RuntimeError("out of ideas")


class Nans(Base):
    def act(self):
        return Estimate(np.full(10, np.nan))


class Shapes(Base):
    def act(self):
        return Estimate(np.zeros(3))


class Hangs(Base):
    def act(self):
        while True:
            pass


class HangsInCompiledCode(Base):
    def act(self):
        ctypes.PyDLL(None).pause()  # never gives back the interpreter's lock


class Eats(Base):
    def act(self):
        self.eaten = []
        while True:
            self.eaten.append(np.empty(4_000_000))


class Exits(Base):
    def act(self):
        sys.exit(3)


class EndsTheProcess(Base):
    def act(self):
        os._exit(0)


class Crashes(Base):
    def act(self):
        ctypes.string_at(0)


class CannotBeMade(Base):
    def __init__(self):
        raise ValueError("no")


class CannotBeReset(Base):
    def reset(self, problem):
        raise ValueError("no")


class Prints(Base):
    def act(self):
        print("chatter")
        os.write(1, b"more chatter\n")
        return Estimate(self.theta)
