/**
 * What Salamander costs: nanoseconds of processor time for each datagram of full size, sealed and
 * opened, where the words of the datagram are aligned and where they are not.
 *
 *     node packages/proxy/bench/salamander.ts
 *     WEIR_CRYPTO=baseline node packages/proxy/bench/salamander.ts
 */
import { SystemRandomSource } from '@weir/base/random';
import { Salamander } from '../src/protocols/hysteria2/salamander.ts';

const SIZE = 1252;
const ROUNDS = 20;
const DATAGRAMS = 10_000;
const BATCH = 40;

const salamander = new Salamander('average_password', new SystemRandomSource());
const datagram = new Uint8Array(SIZE);

/** The best of all rounds, so that other work on the machine matters little. */
function measure(run: (index: number) => void): number {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.cpuUsage();
    for (let index = 0; index < DATAGRAMS; index++) run(index % BATCH);
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, ((user + system) * 1000) / DATAGRAMS);
  }
  return best;
}

for (const [what, stride] of [
  ['aligned', SIZE + salamander.overhead],
  ['not aligned', SIZE + salamander.overhead + 1],
] as const) {
  const arena = new Uint8Array(BATCH * stride);
  const parts = Array.from({ length: BATCH }, (_, index) =>
    arena.subarray(index * stride, index * stride + SIZE + salamander.overhead),
  );
  const seal = measure((index) => void salamander.seal(datagram, arena, index * stride));
  const open = measure((index) => void salamander.open(parts[index] ?? datagram));
  console.log(`${what}: seal ${seal.toFixed(0)} ns, open ${open.toFixed(0)} ns`);
}
