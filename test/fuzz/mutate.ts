/** Numbers between 0 and 1 that a seed determines (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const longest = 65_536;
const odd = [0, 9, 10, 13, 32, 34, 37, 39, 44, 45, 47, 58, 59, 61, 92, 127, 128, 192, 255];

/** Another input, made of one or two of those that are there. */
export function mutate(corpus: readonly Buffer[], words: readonly string[], random: () => number): Buffer {
  const below = (many: number) => Math.floor(random() * many);
  const pick = <T>(list: readonly T[]): T | undefined => list[below(list.length)];
  let input: Buffer = Buffer.from(pick(corpus) ?? Buffer.alloc(0));
  for (let changes = 1 + below(6); changes > 0; changes -= 1) {
    const at = below(input.length + 1);
    const end = Math.min(input.length, at + below(random() < 0.8 ? 8 : input.length + 1));
    const between = (piece: Buffer) => Buffer.concat([input.subarray(0, at), piece, input.subarray(end)]);
    const kinds: (() => Buffer)[] = [
      () => between(Buffer.alloc(0)),
      () => between(Buffer.from(pick(words) ?? '')),
      () => Buffer.concat([input.subarray(0, at), Buffer.from(pick(words) ?? ''), input.subarray(at)]),
      () => between(Buffer.from([below(256)])),
      () => between(Buffer.from([pick(odd) ?? 0])),
      () => Buffer.concat([input.subarray(0, end), input.subarray(at)]),
      () => repeated(input, at, end, 1 + below(random() < 0.95 ? 16 : 4096)),
      () => between(pick(corpus)?.subarray(0, below(64)) ?? Buffer.alloc(0)),
      () => between(Buffer.from(String(Math.round((random() - 0.3) * 10 ** below(20))))),
    ];
    input = (pick(kinds)?.() ?? input).subarray(0, longest);
  }
  return input;
}

function repeated(input: Buffer, from: number, to: number, times: number): Buffer {
  const piece = input.subarray(from, Math.min(to, from + Math.ceil(longest / times)));
  return Buffer.concat([input.subarray(0, to), ...Array<Buffer>(times).fill(piece), input.subarray(to)]);
}
