// What a frame shows: step_story/state.py, line for line; `story` is what step_story/tables.py makes of one.

const START = "start", LOAD = "load", WAIT = "wait", DONE = "done";

export function stateAt(story, time) {
  const ranks = Array.from({ length: story.ranks }, (_, rank) => rank);
  const doing = ranks.map(rank => doingAt(story.phases[rank], time));
  const { flying, links, received } = traffic(story, time);
  const buckets = ranks.map(rank => bucketsOf(story, rank, doing[rank][1], received, time));
  const updates = ranks.map(rank =>
    story.phases[rank].filter(([kind, , , , stop]) => kind === "update" && stop <= time).length);
  return {
    time, doing, links, flying, buckets,
    late: ranks.map(rank => lateFor(story, doing[rank], buckets[rank], time)),
    desks: ranks.map(rank => deskOf(story.samples[rank], doing[rank])),
    fingerprints: ranks.map(rank => story.fingerprints[rank][updates[rank]]),
    losses: story.losses.slice(0, Math.min(...updates) + 1),
  };
}

// The last phase that has begun, as [kind, step, part, share].
function doingAt(phases, time) {
  let at = phases.length - 1;
  while (at >= 0 && phases[at][3] > time) at--;
  if (at < 0) return [START, 0, 0, 0];
  const [kind, step, part, start, stop] = phases[at];
  if (at === phases.length - 1 && time >= stop) return [DONE, step, 0, 1];
  const share = stop > start ? (time - start) / (stop - start) : 1;
  return [kind, step, part, Math.min(1, Math.max(0, share))];
}

function traffic(story, time) {
  const flying = [], links = Array.from({ length: story.ranks }, () => [0, 0]), received = new Map();
  for (let number = 0; number < story.chunks.length; number++) {
    const [source, target, nbytes, start, stop, step, bucket] = story.chunks[number];
    if (start > time) break; // they are in order of start
    if (time >= stop) {
      links[source][0] += nbytes;
      const place = placeOf(target, step, bucket);
      received.set(place, (received.get(place) ?? 0) + 1);
    } else {
      const share = (time - start) / (stop - start);
      flying.push([number, share]);
      links[source][1] += share * nbytes;
    }
  }
  return { flying, links, received };
}

const placeOf = (rank, step, bucket) => (rank * 8 + step) * 8 + bucket;

function bucketsOf(story, rank, step, received, time) {
  return story.ready[rank][step].map((ready, bucket) =>
    ready <= time ? received.get(placeOf(rank, step, bucket)) ?? 0 : -1);
}

function lateFor(story, [kind, step], buckets, time) {
  if (kind !== WAIT) return [];
  const lacking = buckets.findIndex(received => received < 2 * (story.ranks - 1));
  if (lacking < 0) return [];
  return story.ready.flatMap((ready, rank) => ready[step][lacking] > time ? [rank] : []);
}

function deskOf(samples, [kind, step, part, share]) {
  const pieces = samples[step];
  if (kind === START) return [[], -1];
  if (kind !== LOAD) return [pieces, -1];
  return share === 1 ? [pieces.slice(0, part + 1), -1] : [pieces.slice(0, part), pieces[part]];
}
