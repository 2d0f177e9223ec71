import { test } from 'node:test';
import { soak } from '../support/process/reload-soak.ts';

const number = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);

test('a hundred random reloads under 200 downloads and 200 requests a second', async (t) => {
  const seed = number('WEIR_SEED', Date.now() % 1_000_000);
  t.diagnostic(`WEIR_SEED=${seed}`);
  const result = await soak(t, {
    downloads: number('WEIR_DOWNLOADS', 200),
    associations: 20,
    shorts: number('WEIR_SHORTS', 10),
    beatMs: 50,
    reloads: number('WEIR_RELOADS', 100),
    broken: () => [],
    seed,
  });
  const megabytes = result.resident.map((bytes) => Math.round(bytes / 1e6));
  t.diagnostic(
    `${result.shorts} short requests, ${result.flows} flows, ${result.descriptors} descriptors at rest; ` +
      `MB after the first, a quarter, half, all of the reloads: ${[0, 0.25, 0.5, 1].map((part) => megabytes[Math.min(megabytes.length - 1, Math.floor(part * megabytes.length))]).join(', ')}`,
  );
});
