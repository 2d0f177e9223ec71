import { arm64Machine } from './machine.ts';

/** Fetches what `npm run test:arm64` needs, before its files do so at the same time, or says why that is not possible. */
export async function globalSetup(): Promise<void> {
  const machine = await arm64Machine();
  if (typeof machine === 'string') process.stdout.write(`without the tests on arm64: ${machine}\n`);
}

if (import.meta.main) await globalSetup();
