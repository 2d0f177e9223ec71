import { arm64Machine } from './machine.ts';

/** Fetches what `npm run test:arm64` needs, or says why that is not possible. */
const machine = await arm64Machine();
if (typeof machine === 'string') process.stdout.write(`without the tests on arm64: ${machine}\n`);
