"""How a peer times its steps and tells of them: the numbers are those of `./run bench`, so is the protocol of --turns."""
import json
import sys

WARM_STEPS, LEAST_STEPS, MOST_STEPS, SECONDS = 3, 10, 2000, 3.0


def tell_times(seconds_a_step, group, turns, more=lambda: {}):
    """Times steps by seconds_a_step(steps), `group` at a time, and prints one JSON object with the members of more().

    With `turns` each line of standard input, a number of milliseconds, is a turn: a group that is not timed, then steps
    for so long. Prints a list of the milliseconds per step for each turn.
    """
    for _ in range(WARM_STEPS):
        seconds_a_step(group)
    times = []
    while len(times) < LEAST_STEPS or (sum(times) * group < SECONDS and len(times) < MOST_STEPS):
        times.append(seconds_a_step(group))
    times.sort()
    print(json.dumps({"step_ms_min": 1e3 * times[0], "step_ms_median": 1e3 * times[len(times) // 2], **more()}), flush=True)
    for line in sys.stdin if turns else []:
        seconds_a_step(group)
        times = []
        while not times or sum(times) * group * 1e3 < float(line):
            times.append(seconds_a_step(group))
        print(json.dumps([1e3 * seconds for seconds in times]), flush=True)
