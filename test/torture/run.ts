import { emptyResult, type Limits, type Result, type Torture } from './torment.ts';

/** Runs scenarios one after the other and prints what came of them; whether all promises were kept. */
export async function run(scenarios: readonly Torture[], limits: Limits): Promise<boolean> {
  const total = emptyResult();
  const began = performance.now();
  for (const scenario of scenarios) {
    const start = performance.now();
    const result = await scenario.run(limits, console.error);
    console.log(`${scenario.name.padEnd(12)} ${text(result)}, ${secondsSince(start)} s`);
    total.failures += result.failures;
    total.noticed += result.noticed;
    total.violations.push(...result.violations);
    for (const [call, count] of result.calls) add(total.calls, call, count);
  }
  console.log(`${'all'.padEnd(12)} ${text(total)}, ${secondsSince(began)} s`);
  console.log([...total.calls].map(([call, count]) => `${call} ${count}`).join(', '));
  return total.violations.length === 0 && total.failures > 0;
}

const text = ({ failures, noticed, calls, violations }: Result): string =>
  `${failures} failures of ${calls.size} calls, ${noticed} noticed by the client, ${violations.length} violations`;

const secondsSince = (start: number): string => ((performance.now() - start) / 1000).toFixed(0);

function add(calls: Map<string, number>, call: string, count: number): void {
  calls.set(call, (calls.get(call) ?? 0) + count);
}
