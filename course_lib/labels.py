"""Every word that the library shows a learner, in one table, so that another language is one more table."""

LABELS = {
    # predictions
    "prediction": "Prediction {key}",
    "no_guess": "You made no guess. Measured: {measured}",
    "no_choice": "You made no guess. The answer is {measured}.",
    "choice": "Your guess: {guess}. The answer is {measured}.",
    "guess": "Your guess: {guess}. Measured: {measured}",
    "guess_ratio": "Your guess: {guess}. Measured: {measured}. You were off by a factor of {ratio:.2g}",
    "no_guess_computed": "You made no guess. It comes out as {measured}",
    "guess_computed": "Your guess: {guess}. It comes out as {measured}",
    "guess_ratio_computed": "Your guess: {guess}. It comes out as {measured}. You were off by a factor of "
    "{ratio:.2g}",
    # exercises
    "not_attempted": "Not attempted yet: fill in the function above, then run this cell again.",
    "returned_nothing": "Not attempted yet: the function returned None. "
    "If you have written it, is a return missing?",
    "workers": "{count} workers",
    "worker": "1 worker",
    "passed": "Passed: {what}.",
    "failed": "Not yet. {case}: {what}",
    "unchecked": "Not yet. What the function returned could not be checked ({error}): is it what the "
    "exercise asks for, on every rank?",
    "returned_none": "rank {rank} returned None: is a return missing on some ranks?",
    "still_running": "still running after {limit}: does the loop end?",
    # pictures
    "step": "step",
    "epoch": "passes over the data",
    "loss": "loss (half mean squared error)",
    "samples": "samples",
    "gap": "loss minus that of one worker",
    "one_percent": "within 1 % of the best",
    "workers_legend": "workers",
    "above_best": "loss above the best possible",
    "ratio": "loop time / product time",
    "theory": "closed form",
    "measured": "measured",
    "equal": "equally fast",
    "stopped": "where the demo stops: {step}",
    "convergence_title": "After {stopped} steps it has only begun; step {reached} is within 1 % of the best",
    "convergence_alt": "Loss above the best possible one, {floor:.4g}, on a logarithmic axis, against step. "
    "Measured points lie on the closed form, nearly a straight line downwards. The demo stops at step "
    "{stopped}, near the top; the loss comes within 1 % of the best at step {reached}.",
    "departure_title": "A plain mean of unequal shards leaves the path",
    "departure_alt": "Difference of the loss from that of one worker, against step. The plain mean of five "
    "unequal shards departs at once and comes back slowly; the others stay at zero. Largest: {listed}.",
    "epochs_title": "Small batches arrive sooner, then jitter; full batches go on",
    "epochs_alt": "Loss above the best possible, on a logarithmic axis, against passes over the data. "
    "Last of each: {listed}.",
    "compute": "compute",
    "send": "send",
    "recv": "receive",
    "wait": "wait",
    "collective": "collective",
    "rank": "rank {rank}",
    "seconds": "time ({unit})",
    "simulated": "simulated",
    "real": "real",
    "timeline_title": "{ranks} workers, {world}: {wait:.0%} of their time is waiting",
    "timeline_alt": "Timeline with a lane for each of {ranks} workers, {seconds} long, {world}. "
    "Shares of the workers' time: {shares}.",
    "traffic_title": "{nbytes} in {messages} messages, at most {busiest} a pair",
    "traffic_alt": "Matrix of bytes sent, a row for each source and a column for each target, "
    "{ranks} workers, {world}. {listed}",
    "source": "source rank",
    "target": "target rank",
    "bytes": "bytes",
    "ring_title": "A worker sends to {partners} of the {others} others",
    "ring_alt": "The {ranks} workers on a circle; an arrow for each pair of which one sent to the other, "
    "with the bytes it carried. {listed}",
    "messages": "messages",
    "start": "start",
    "stop": "stop",
    "more_messages": "… and {count} more",
    "speed_title": "The product is {low:.0f} to {high:.0f} times faster than the loop",
    "speed_alt": "Time of the loop divided by time of the matrix product against the number of samples, both "
    "axes logarithmic. The ratio lies between {low:.0f} and {high:.0f}, far above the line of equal speed.",
    # widgets: their texts have plain {names} only, for JavaScript fills them in as well
    "widget_pin": "Pin to compare",
    "widget_unpin": "Remove {letter}",
    "widget_reset": "Reset",
    "widget_now": "now",
    "amdahl_p": "P, parallel share of the work",
    "amdahl_n": "N, number of GPUs",
    "amdahl_scaling": "Scaling",
    "amdahl_strong": "strong: the same work on more GPUs (Amdahl)",
    "amdahl_weak": "weak: the work grows with N (Gustafson)",
    "amdahl_speedup": "speed-up (times one GPU)",
    "amdahl_at": "N = {n}",
    "amdahl_limit_at": "limit {limit}",
    "amdahl_most": "90 % of the limit",
    "amdahl_result": "P = {p}, N = {n}: speed-up {speedup}, at most {limit}. The next GPU adds {gain}. "
    "90 % of the limit needs N = {workers}.",
    "amdahl_unlimited": "P = {p}, N = {n}: speed-up {speedup}, without a limit. The next GPU adds {gain}.",
    "amdahl_column_p": "P",
    "amdahl_column_scaling": "scaling",
    "amdahl_column_strong": "strong",
    "amdahl_column_weak": "weak",
    "amdahl_column_speedup": "speed-up",
    "amdahl_column_gain": "next GPU adds",
    "amdahl_column_limit": "limit",
    "amdahl_column_workers": "90 % needs N =",
    "amdahl_title": "{n} GPUs give {speedup}; no number of them gives more than {limit}",
    "amdahl_title_unlimited": "{n} GPUs give {speedup}, and there is no limit",
    "amdahl_alt": "Speed-up against the number of GPUs. Curves: {curves}; the first is marked where "
    "it is set. {result}",
    "algorithm_ring": "ring",
    "algorithm_tree": "binary tree",
    "algorithm_halving_doubling": "halving-doubling",
    "algorithm_recursive_doubling": "recursive doubling",
    "algorithm_parameter_server": "parameter server",
    "algorithm_naive": "all to all",
    "ring_time_parameters": "Parameters (millions)",
    "ring_time_precision": "Bytes a parameter",
    "ring_time_megabytes": "M, gradient (MB)",
    "ring_time_ranks": "K, number of workers",
    "ring_time_link": "Link, one direction",
    "ring_time_custom": "own bandwidth",
    "ring_time_bandwidth": "B, bandwidth (GB/s)",
    "ring_time_latency": "α, latency of a message (µs)",
    "ring_time_algorithm": "Algorithm",
    "ring_time_compute": "Rest of a step (ms)",
    "ring_time_against": "Time against",
    "ring_time_against_size": "size M",
    "ring_time_against_ranks": "workers K",
    "ring_time_size": "M, gradient",
    "ring_time_time": "time of one all-reduce",
    "ring_time_here": "latency = transfer: {takeover}",
    "ring_time_rest": "rest of a step: {compute}",
    "ring_time_half": "latency = transfer",
    "ring_time_result": "{algorithm}, K = {ranks}, M = {nbytes} at {bandwidth}: {seconds}. "
    "Bus bandwidth {bus}. {share} of a step whose rest takes {compute}.",
    "ring_time_takeover": "Below {takeover} latency takes over.",
    "ring_time_no_takeover": "There is no latency to take over.",
    "ring_time_curve": "{algorithm}, K = {ranks}, {link}",
    "ring_time_column_algorithm": "algorithm",
    "ring_time_column_size": "M",
    "ring_time_column_ranks": "K",
    "ring_time_column_link": "link",
    "ring_time_column_latency": "α",
    "ring_time_column_seconds": "time",
    "ring_time_column_bus": "bus bandwidth",
    "ring_time_column_share": "of a step",
    "ring_time_column_takeover": "latency below",
    "ring_time_title": "Reducing {nbytes} takes {seconds}",
    "ring_time_alt": "Time of an all-reduce, both axes logarithmic. Curves: {curves}; the first is marked "
    "where it is set. {result}",
    "player_first": "To the start",
    "player_back": "Step back",
    "player_next": "Step forward",
    "player_play": "Play",
    "player_pause": "Pause",
    "player_scrub": "Moment shown",
    "player_speed": "Speed",
    "player_count": "{frame} / {last}",
    "timeline_player_rank": "rank {rank}",
    "timeline_player_compute": "computes",
    "timeline_player_send": "sends to {peers}",
    "timeline_player_recv": "receives from {peers}",
    "timeline_player_wait": "waits for {peers}",
    "timeline_player_collective": "in a collective",
    "timeline_player_done": "done",
    "timeline_player_said": "{time} of {seconds}. Waiting: {waiting}. Messages under way: {flying}.",
    "timeline_player_said_none": "{time} of {seconds}. Nobody waits. Messages under way: {flying}.",
    "ring_player_rank": "rank {rank}",
    "ring_player_chunk": "chunk {chunk}",
    "ring_player_flight": "{source}→{target} chunk {chunk}",
    "ring_player_step": "After {number} of {last} steps",
    "ring_player_moment": "Moment {number} of {last}",
    "ring_player_adds": "{place}; under way, to be added: {listed}.",
    "ring_player_gathers": "{place}; under way, to be kept: {listed}.",
    "ring_player_mixed": "{place}; under way, to be added or kept: {listed}.",
    "ring_player_still": "{place}; nothing travels.",
    "ring_player_whole": "{whole} of {cells} cells hold the whole sum, {time}.",
    "ring_player_panel": "after {step}",
    "ring_player_axes": "columns: ranks; rows: chunks; →: sent next; framed: the whole sum",
    "ring_player_title": "{steps} steps, and all {ranks} ranks hold every sum",
    "ring_player_alt": "Small tables, one a step, with a column for each of {ranks} ranks and a row for "
    "each chunk; the number in a cell is the partial sum. First: {first} Last: {last}",
    "prediction_none": "no guess yet",
    "prediction_made": "your guess: {guess}",
    "prediction_clear": "Clear",
    "prediction_hands": "Show of hands",
    "prediction_more": "One more for {choice}",
    "prediction_fewer": "One fewer for {choice}",
    "prediction_number": "a number",
    # chapter 2
    "ch2_workers": "workers",
    "ch2_speedup": "speed-up (times one worker)",
    "ch2_simulated": "simulated",
    "ch2_ideal": "ideal: as many times as workers",
    "ch2_gigabytes": "memory on each worker (GB)",
    "ch2_part": "{part}: {each} B",
    "ch2_capacity": "one GPU: {size:.4g} GB",
    "ch2_memory_title": "More workers, and still {total:.4g} GB on each of them",
    "ch2_memory_alt": "Stacked bars of the memory on each worker for {counts} workers: all of the same "
    "height, {total:.4g} GB. Parts: {listed}. A dashed line at one GPU's {capacity:.4g} GB.",
    "ch2_share": "{p:.0%} parallel: at most {limit:.4g}",
    "ch2_share_alt": "{p:.0%} parallel: limit {limit:.4g}, nine tenths of it from {n:.0f} workers on",
    "ch2_nine_tenths": "90% at {n:.0f}",
    "ch2_amdahl_title": "Each curve bends towards a limit that it never reaches",
    "ch2_amdahl_alt": "Speed-up against workers from 1 to {most}, both axes logarithmic: a curve and its "
    "limit as a level line for each parallel share. {listed}.",
    "ch2_fraction": "Amdahl, serial fraction {fraction:.2g}",
    "ch2_no_curve": "serial fraction {fraction:.2g}: no such curve",
    "ch2_measured_title": "{name}, {most} workers: {speedup:.2f} times as fast as one",
    "ch2_measured_alt": "Measured speed-ups as points on Amdahl's curves of the serial fraction they imply. "
    "{listed}.",
    "ch2_measured_alt_one": "{name}: {pairs} workers, serial fraction {fraction:.2g}",
    "ch2_strong": "same work (strong, Amdahl)",
    "ch2_weak": "work grows with workers (weak, Gustafson)",
    "ch2_weak_title": "{most} workers: {strong:.1f} times as fast, or {weak:.0f} times the work",
    "ch2_weak_alt": "Speed-up against workers for a parallel share of {p:.0%}. With the same work it "
    "flattens, {strong:.2f} at {most} workers; with work that grows it is a straight line, {weak:.1f} there. "
    "Simulated points lie on both.",
    "ch2_ring_free": "without latency",
    "ch2_ring_latency": "latency {latency:.3g} µs",
    "ch2_ring_limit": "limit without latency: {limit:.4g}",
    "ch2_ring_best": "best: {best} workers",
    "ch2_ring_title": "Latency turns the curve down after {best} workers",
    "ch2_ring_alt": "Speed-up against workers, logarithmic from 1 to 2048. Without latency it rises towards "
    "{limit:.4g} and never falls. With latency it is highest at {best} workers, {top:.3g}, and falls to "
    "{end:.3g} at 2048. Simulated points lie on that curve.",
    "ch2_slowest": "slowest worker (times the mean)",
    "ch2_slowest_title": "The slowest of {most} takes {slowest:.1f} times the mean",
    "ch2_slowest_alt": "Time of the slowest worker, in means, against the number of workers: the closed form "
    "as a line, {slowest:.2f} at {most}; simulated: {listed}.",
    # chapter 3
    "ch3_theory": "theory",
    "ch3_gap": "largest gap between two replicas",
    "ch3_distance": "distance (last common step = 1)",
    "ch3_level": "limit: {level:g}",
    "ch3_gaps_title": "A gap at the start stays; skipping the mean opens one",
    "ch3_gaps_alt": "Largest gap between two of the replicas against step, {steps} steps. Measured points "
    "lie on the lines of theory. First and last gap of each run: {ends}.",
    "ch3_reset": "momentum lost before step {step}",
    "ch3_momentum_title": "Momentum lost once on one rank: a gap that stays",
    "ch3_momentum_alt": "Distance between the two replicas against step, in lengths of the last common "
    "step: zero until one of them loses its momentum before step {step}, then it rises along the line of "
    "theory towards the limit of {level:g} and stays, at {end:.3g} in the end.",
    "ch3_one_over_k": "one worker's variance / K",
    "ch3_workers": "workers K",
    "ch3_variance": "variance of the averaged gradient",
    "ch3_noise_title": "Independent draws: variance over K. Same draws: no gain",
    "ch3_noise_alt": "Variance of the averaged gradient against the number of workers; both axes logarithmic "
    "with a line for one worker's variance divided by K. First and last point of each: {listed} workers.",
    "ch3_every": "steps between two averagings",
    "ch3_end": "θ at the end",
    "ch3_best": "synchronous SGD: {best:.4g}",
    "ch3_later_title": "The later the class averages, the further from the best θ",
    "ch3_later_alt": "Where training ends against the number of steps between two averagings, logarithmic. "
    "Measured points lie on the line of theory. {listed}; synchronous SGD ends at {best:.4g}.",
    # chapter 4
    "ch4_forward": "forward",
    "ch4_backward": "backward",
    "ch4_wait": "wait",
    "ch4_aggregate": "aggregate",
    "ch4_update": "update",
    "ch4_phases_title": "Waiting takes {wait:.0%} of the workers' time ({world})",
    "ch4_phases_alt": "Timeline with a lane for each of {ranks} workers, {seconds} long, {world}: forward "
    "and backward pass, waiting for the slowest, aggregation, update. Mean per worker: {listed}.",
    "ch4_messages": "{count} messages",
    "ch4_up_down": "↑ {up}\n↓ {down}",
    "ch4_ways_title": "One mean, {least} to {most} messages",
    "ch4_way_alt": "{name}: {count} messages, {nbytes}; {pairs}.",
    "ch4_equal_share": "equal share",
    "ch4_bytes_sent": "sent by this worker ({unit})",
    "ch4_loads_title": "All send {total} in total; the busiest worker {low} to {high}",
    "ch4_loads_alt": "Bars: bytes that each worker sends. By rank: {listed}. A dashed line marks the equal "
    "share, {share} each.",
    "ch4_place": "place in the array",
    "ch4_orders_title": "Exact sum {exact:g}; what comes out is {results}",
    "ch4_or": " or ",
    "ch4_orders_alt": "Table of the float32 sum that each way gives at each of {places} places of the array, "
    "where the exact sum is {exact:g}. {listed}.",
    "ch4_count": "all-reduces for the same bytes",
    "ch4_fit": "fixed cost for each call, fitted",
    "ch4_split_title": "Cut into {count} pieces, the same bytes take {ratio:.3g} × as long",
    "ch4_split_alt": "Time against the number of all-reduces into which the same bytes are cut, both axes "
    "logarithmic. Points: {listed}. Line: {line}.",
    # chapter 5
    "ch5_not_attempted": "Not attempted yet: fill in the numbers above, then run both cells again.",
    "ch5_rank": "rank",
    "ch5_chunk": "chunk",
    "ch5_start": "start",
    "ch5_round": "round {turn}",
    "ch5_key": "The number: how\nmany ranks have\nbeen added up\nin this chunk.\n\nFramed: it "
    "has\njust arrived.\n\n{ranks}: complete.",
    "ch5_rounds_title": "Complete somewhere after round {half}, everywhere after {all}",
    "ch5_rounds_alt": "Grids of {ranks} ranks by {ranks} chunks, one for the start and one after "
    "each of {all} rounds; a cell says how many ranks' numbers are in the chunk. At the start all "
    "cells are 1. In round 1 rank r passes chunk r to the right, in each later round the chunk that "
    "has just arrived. After round {half} every rank has one chunk with all {ranks} parts, another one "
    "each; after round {all} all cells are {ranks}.",
    "ch5_bound": "lower bound 2(K−1)/K",
    "ch5_ring": "ring",
    "ch5_halving_doubling": "halving-doubling",
    "ch5_tree": "tree",
    "ch5_parameter_server": "parameter server",
    "ch5_naive": "naive, all to all",
    "ch5_gloo": "gloo's own",
    "ch5_workers_axis": "workers K",
    "ch5_multiples": "sent by the busiest worker (M)",
    "ch5_bound_title": "The ring sends no byte more than the bound demands",
    "ch5_bound_alt": "What the busiest worker sends, in multiples of the array's M bytes, against "
    "the number of workers. The ring lies on the lower bound. At {most} workers: bound {bound:.3g}; "
    "{listed}.",
    "ch5_limit": "2M/B",
    "ch5_in_units": "ring time / (2M/B)",
    "ch5_scaling_title": "Large arrays ignore K; small ones pay for every worker",
    "ch5_scaling_alt": "Ring time divided by 2M/B against the number of workers, one line for each "
    "array size, simulated runs as points on the lines. Large arrays stay near 1. At {most} workers: "
    "{listed}.",
    "ch5_size": "size of the array (bytes)",
    "ch5_time": "time ({unit})",
    "ch5_size_title": "Few rounds win for small arrays, few bytes for large ones",
    "ch5_size_alt": "Time of an all-reduce against the array's size for five algorithms, both axes "
    "logarithmic; simulated runs as points, on the laws as lines; the tree has points only. The ring "
    "becomes faster than: {listed}.",
    "ch5_ranks_title": "Halving-doubling likes powers of two; the ring takes any K",
    "ch5_ranks_alt": "Time of an all-reduce against the number of workers for five algorithms; "
    "simulated runs as points, laws as lines; the tree has points only. At {most} workers: {listed}.",
    "ch5_fit": "law with fitted latency and bandwidth",
    "ch5_used": "used for the fit",
    "ch5_predicted": "held back, to be predicted",
    "ch5_fit_title": "Half of the sizes predict the rest, off by {off:.0%} at the median",
    "ch5_fit_alt": "Measured time of an all-reduce against size, {count} sizes, both axes "
    "logarithmic. Every second one was used to fit the line; the others are off it by {off:.0%} at the "
    "median, {worst:.0%} at most.",
    "ch5_megabytes": "size of the array (MB)",
    "ch5_lab_law": "the law",
    "ch5_lab_wire": "bytes on the wire: {share:.1%} more",
    "ch5_lab_hosts": "{name}, {ranks} hosts",
    "ch5_lab_ratio": "measured / law",
    "ch5_lab_title": "On limited links runs take {low:.2f} to {high:.2f} times the law",
    "ch5_lab_alt": "Measured time divided by the law's against size, on hosts joined by limited "
    "links, recorded on {date}. {listed}. Headers and acknowledgements add {share:.1%} to the bytes.",
    # compression
    "compression_fp16_ring": "fp16 ring",
    "compression_int8_gather": "int8 by all-gather",
    "compression_int8_ring": "int8 ring, requantised",
    "compression_sign_gather": "sign by all-gather",
    "compression_top_k_gather": "top-k {density:.0%} by all-gather",
    "compression_method": "saved",
    "compression_payload": "payload",
    "compression_wire": "wire, K = {ranks}",
    # chapter 7: top-k with error feedback
    "ch7_topk_passed": "values, residuals and bytes on 1, 2, 3, 4 and 7 workers",
    "ch7_topk_case": "{workers}, gradient of length {size}, k = {k}",
    "ch7_topk_changed": "gradient itself was changed; start with corrected = gradient + residual",
    "ch7_topk_pair": "rank {rank} returned {kind}, not a pair (mean, residual)",
    "ch7_topk_kind": "rank {rank}'s {name} is a {kind}, not an array of real numbers",
    "ch7_topk_shape": "rank {rank}'s {name} has shape {got}, not {shape}: it is dense, with zeros where "
    "nothing arrived",
    "ch7_topk_lost": "nobody received what rank {source} sent to rank {target}: one receive for each send",
    "ch7_topk_silent": "no message was sent, so no rank can know what the others have",
    "ch7_topk_bytes": "{nbytes} bytes were sent in all. As indices (int32) and values (float32) the k = {k} "
    "entries of each rank take 8 bytes an entry, {least} on their way to all others: send those two short "
    "arrays, not a dense one with zeros in it",
    "ch7_topk_bits": "the ranks' means differ in the last bits, so their models would drift apart: add up in "
    "the order of the ranks, on every rank",
    "ch7_topk_mean": "rank {rank}'s mean is wrong: {why}",
    "ch7_topk_residual": "rank {rank}'s mean is right, but not its new residual: {why}",
    "ch7_topk_sum": "it is the sum; divide by comm.size, once",
    "ch7_topk_divided_twice": "it was divided by comm.size twice",
    "ch7_topk_no_residual": "the residual was forgotten. What was not sent before has to be added to the "
    "gradient before the largest entries are chosen",
    "ch7_topk_twice": "the residual was added twice",
    "ch7_topk_subtracted": "the residual was subtracted; what is still owed is added",
    "ch7_topk_signed": "entries were chosen by their value; a large negative one counts as much: order by "
    "magnitude, np.abs",
    "ch7_topk_most_negative": "the most negative entries were chosen; order by magnitude, np.abs",
    "ch7_topk_smallest": "the smallest entries were chosen; np.argsort puts the largest last",
    "ch7_topk_by_gradient": "entries were chosen by the size of gradient alone; choose by the size of "
    "gradient + residual, of which they are sent",
    "ch7_topk_only_gradient": "the places are right, but the values are of gradient alone; send those of "
    "gradient + residual",
    "ch7_topk_dense": "all entries arrived; of each rank only its k = {k} largest are sent",
    "ch7_topk_own": "it holds only what this rank sent; add what arrives from the others",
    "ch7_topk_own_share": "it holds only what this rank sent, divided; add what arrives from the others",
    "ch7_topk_others": "this rank's own entries are missing in it",
    "ch7_topk_rounded": "it is right to a few digits only; send the values as float32",
    "ch7_topk_mean_unknown": "add each rank's values at their indices, then divide by comm.size. An index "
    "may come from several ranks: add one rank after the other, or by np.add.at",
    "ch7_topk_forgotten": "it is all zeros, so what was not sent is lost; keep gradient + residual without "
    "the entries that were sent",
    "ch7_topk_not_taken_off": "it still holds what was sent, which would go out again; set that to 0",
    "ch7_topk_old_lost": "it is gradient minus what was sent; the old residual has to stay in it: start from "
    "gradient + residual",
    "ch7_topk_kept_sent": "it holds what WAS sent; keep the rest",
    "ch7_topk_minus_mean": "the mean was taken off; a rank takes off what it has sent itself",
    "ch7_topk_negative": "its sign is wrong: gradient + residual minus what was sent",
    "ch7_topk_old": "it is the old residual; what was not sent of this gradient comes on top, and what was "
    "sent is taken off",
    "ch7_topk_added_twice": "the old residual is in it twice",
    "ch7_topk_rest_unknown": "it should be gradient + residual with zeros where entries were sent",
    # chapter 7: overlap
    "overlap_one_bucket": "1 bucket",
    "overlap_buckets": "{count} buckets",
    "overlap_reduce_lane": "all-reduce",
    "overlap_compute": "computes",
    "overlap_wait": "waits",
    "overlap_collective": "bucket in flight",
    "overlap_ready": "bucket ready",
    "overlap_title": "{share:.0%} of communication is hidden ({world}, {buckets})",
    "overlap_alt": "Timeline of a backward pass, {world}: for each rank a lane of computing, then waiting, "
    "and one with a bar for each bucket while its all-reduce is in flight, {buckets}. {share:.0%} of that "
    "time lies beside computing. {listed}.",
    "overlap_alt_rank": "Rank {rank} has computed all after {computed:.3g} {unit} and has all sums after "
    "{stop:.3g} {unit}; something is in flight for {in_flight:.3g} {unit}",
    "overlap_step_axis": "time ({unit})",
    "overlap_share": "share hidden",
    "overlap_share_axis": "hidden (%)",
    "overlap_size_axis": "bucket size, and how many buckets that makes",
    "overlap_mb_axis": "bucket_cap_mb, and how many buckets that makes",
    "overlap_tick": "{size}\n{buckets}",
    "overlap_sizes_title": "Fastest: {buckets} of {size}",
    "overlap_measured_title": "Hidden: {most.hidden:.0%} with {many}, {fewest.hidden:.0%} with {few}",
    "overlap_sizes_row": "{size}, {buckets}: {seconds:.3g} {unit}, {hidden:.0%} hidden",
    "overlap_sizes_alt": "Two charts against the bucket size, logarithmic: above, the time; below, the share "
    "of communication that is hidden. {listed}.",
    # chapter 7: find the bucket size
    "ch7_bucket_not_attempted": "Not attempted yet: give bucket_bytes a number above, then run both cells "
    "again.",
    "ch7_bucket_passed": "within 5 % of the best, {seconds}",
    "ch7_bucket_case": "your size",
    "ch7_bucket_of": "buckets of {size}",
    "ch7_bucket_small": "{buckets}: the pass takes {seconds}, {slower} % more than with the best size. Each "
    "bucket pays the ring's latency anew, {latency} in all. Look at what fewer, larger ones would save",
    "ch7_bucket_large": "{buckets}: the pass takes {seconds}, {slower} % more than with the best size. The "
    "link idles until the first is full, and after the last layer all wait {waited}. Look at when the first "
    "all-reduce starts, and at what is left to hide the last one behind",
    # chapter 7: faults
    "recovery_undisturbed": "undisturbed job, rank 0",
    "recovery_twice": "done twice",
    "recovery_gap": "torchrun starts all anew",
    "recovery_kill": "SIGKILL",
    "recovery_axis": "time since the first rank was ready (s)",
    "recovery_steps": "steps done",
    "recovery_same": "the same parameters",
    "recovery_differ": "other parameters",
    "recovery_title": "Killed at step {kill}, resumed at {resumed}: {same}, {lost} later",
    "recovery_alt": "Steps done against time, a line for each rank of a job in which rank {rank} is killed "
    "at step {kill}, and one for the same job undisturbed. After the kill there is a gap; all ranks go on "
    "from step {resumed}, so {twice} steps are done twice, {lost} lost in all. In the end: {same} as in the "
    "undisturbed job.",
    # planner
    "plan": "{total} GB of {capacity} GB a GPU: weights {weights}, gradients {gradients}, optimiser state "
    "{optimiser}, activations {activations}. {verdict} A step takes {seconds} s, {exposed} s of it waiting "
    "for communication.",
    "plan_fits": "It fits.",
    "plan_does_not_fit": "It does not fit; the largest part is {part}.",
    "plan_weights": "weights",
    "plan_gradients": "gradients",
    "plan_optimiser": "optimiser state",
    "plan_activations": "activations",
    # chapter 7: pictures of compression, rates and links
    "ch7_workers": "workers K",
    "ch7_float32_ring": "float32 ring",
    "ch7_wire_axis": "sent by each worker (float32 ring = 1)",
    "ch7_wire_title": "By all-gather the saving shrinks with K; by ring it stays",
    "ch7_wire_alt": "Bytes that each worker sends, as a multiple of the float32 ring's, against the number of "
    "workers. Points, counted from messages, lie on the lines of theory: level for rings, rising for "
    "all-gathers. At {most} workers: {listed}.",
    "ch7_link_axis": "bandwidth of the link (bytes/s)",
    "ch7_step_axis": "time of a step (float32 ring = 1)",
    "ch7_link_title": "A smaller code shortens a step on slow links only",
    "ch7_link_alt": "Time of a step with compressed gradients, as a multiple of that with the float32 ring, "
    "against the bandwidth of the link, logarithmic. Simulated points lie on the lines of theory. From "
    "{slow} to {fast}: {listed}.",
    "ch7_link_alt_one": "{name} {slow:.2f} to {fast:.2f}",
    "ch7_distance_axis": "distance from the minimum",
    "ch7_distance_title": "Top-1 without feedback walks away from the minimum",
    "ch7_distance_alt": "Distance from the minimum, logarithmic, against step; all start at {start:.3g}. "
    "Without feedback the points rise along the straight line of theory, with it they fall. Last of each: "
    "{listed}.",
    "ch7_without_feedback": "without feedback",
    "ch7_with_feedback": "with error feedback",
    "ch7_sent_axis": "sent by each worker (MB)",
    "ch7_loss_axis": "training loss at the end (nats)",
    "ch7_sent_title": "With feedback, few bytes reach nearly the same loss",
    "ch7_sent_alt": "Loss at the end of training against the bytes that each worker sent, logarithmic. "
    "{listed}.",
    "ch7_sent_alt_one": "{name}: {nbytes}, {losses}",
    "ch7_sent_both": "{without:.2f} without feedback, {feedback:.2f} with it",
    "ch7_guessing": "guessing: ln 10",
    "ch7_batch_axis": "samples of a batch, n",
    "ch7_end_axis": "training loss at the end (nats)",
    "ch7_fails_from": "{name} fails from a batch of {batch} on",
    "ch7_never_fails": "No run fails; least loss at {batch}: {name}",
    "ch7_batch_alt": "Loss at the end of training against the batch, both axes logarithmic, a point for each run "
    "and a line through the middle ones; a dotted line at the loss of guessing. Middle losses: {listed}.",
    "ch7_epoch_axis": "mean loss of the pass (nats)",
    "ch7_epoch_title": "Runs that learn: {listed}",
    "ch7_epoch_alt": "Mean loss of each pass over the data, logarithmic, a line for each run; a dotted line at "
    "the loss of guessing. In the last pass: {listed}.",
}


def label(name, /, **values):
    """The text called `name`, filled in."""
    return LABELS[name].format(**values)
