"""The figures of the method that the emulation of a launch rests on."""

from __future__ import annotations

from ..facts.emulator.budget import Costs, Limits
from ..facts.footprint import Evenness
from ..facts.launch_arguments import Settings
from .knowledge import Setting


def emulation_settings(setting: Setting) -> Settings:
    """Read budget, costs and anchors from the knowledge base in force."""

    def figure(name: str) -> float:
        value = setting.method(name)
        assert isinstance(value, (int, float)), name
        return float(value)

    costs = Costs(
        block=figure("emulation_block_cost"),
        instruction=figure("emulation_instruction_cost"),
        step=figure("emulation_step_cost"),
        access=figure("emulation_access_cost"),
        access_lane=figure("emulation_access_lane_cost"),
        follow=figure("emulation_follow_cost"),
        turn=figure("emulation_turn_cost"),
    )
    limits = Limits(
        budget=figure("emulation_budget"),
        costs=costs,
        unknown_trips=int(figure("unknown_trips")),
        uneven=figure("uneven_blocks_fraction"),
        spread_threads=int(figure("spread_threads")),
    )
    return Settings(
        limits=limits,
        most_threads=int(figure("sampled_threads")),
        generic_integer=int(figure("generic_integer")),
        elements_per_thread=int(figure("generic_elements_per_thread")),
        most_lines=int(figure("sampled_lines")),
        most_arrays=int(figure("sampled_arrays")),
        evenness=Evenness(figure("uneven_steps_fraction"), figure("edge_shift_bytes")),
        anchor_spread=figure("anchor_spread"),
        anchor_disagreement=figure("anchor_disagreement"),
        special_operations=figure("special_function_operations"),
        plausible_share=figure("plausible_share"),
        explained_share=figure("explained_time_fraction"),
        launch_ms=figure("empty_launch_ms"),
        time_rounds=int(figure("time_anchor_rounds")),
        time_smallest=figure("time_anchor_smallest"),
    )
