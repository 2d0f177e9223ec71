import { test } from 'node:test';
import { soak, type Broken } from '../support/process/reload-soak.ts';

const BROKEN: readonly Broken[] = [
  {
    make: (valid) => `${valid}\n[[`,
    status: 422,
    error: 'TOML parse error at line ',
  },
  {
    make: (valid) => valid.replace('outbound = "spare"', 'outbound = "absent"'),
    status: 422,
    error: 'route references unknown outbound tag: absent',
  },
];

test('random reloads under load change no flow and lose no byte', async (t) => {
  const result = await soak(t, {
    downloads: 20,
    associations: 4,
    shorts: 2,
    beatMs: 40,
    reloads: 24,
    broken: (reload) => (reload % 6 === 5 ? [BROKEN[(reload / 6) & 1] as Broken] : []),
    seed: 20,
  });
  t.diagnostic(`${result.shorts} short requests, ${result.flows} flows`);
});
