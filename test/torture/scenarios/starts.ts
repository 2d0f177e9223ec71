import { networkState } from '../../support/netns/site.ts';
import { socksConnect } from '../../support/peers/socks-client.ts';
import { freedom, httpIn, socksIn } from '../../support/process/config.ts';
import { checkedEcho, exchange } from '../exchange.ts';
import { failureText, NATIVE_CALLS, type Failure } from '../faults.ts';
import { SERVED, unserved, Violation, type Outcome } from '../scenario.ts';
import {
  chosen,
  count,
  emptyResult,
  namesOf,
  OWN_WORDS,
  type Limits,
  type Result,
  type Torture,
} from '../torment.ts';
import { Victim } from '../victim.ts';
import { BASE } from './relays.ts';
import { TUN_CONFIG, useNetwork } from './tun.ts';

type Use = (victim: Victim) => Promise<Outcome>;

/**
 * Each call of a start fails in each way, one in each start. Then Weir serves, or it ends with
 * status 1 and a line that names the cause, and the machine's network is as it was.
 */
async function tormentStarts(
  config: string,
  use: Use,
  limits: Limits,
  report: (line: string) => void,
): Promise<Result> {
  const result = emptyResult();
  const counts = await callsOfStart(config);
  const network = networkState();
  const calls = (call: string): boolean => call in NATIVE_CALLS;
  for (const failure of chosen({ calls }, counts, limits)) {
    try {
      const outcome = await start(config, failure, use);
      if (outcome) count(result, failure, outcome);
      if (networkState() !== network) throw new Violation('the network is not as it was');
    } catch (error) {
      const text = `a start: ${failureText(failure)}: ${String(error)}`;
      result.violations.push(text);
      report(text);
    }
  }
  return result;
}

async function callsOfStart(config: string): Promise<Readonly<Record<string, number>>> {
  await using victim = await Victim.start(config, {}, null);
  const { counts } = await victim.disarm();
  await victim.weir.stop();
  return counts;
}

/** `undefined` when the start made fewer calls than that. @throws {Violation} */
async function start(config: string, failure: Failure, use: Use): Promise<Outcome | undefined> {
  let victim: Victim;
  try {
    victim = await Victim.start(config, {}, failure);
  } catch (error) {
    return refusal(failure, String(error));
  }
  await using _ = victim;
  const { fired } = await victim.disarm();
  const outcome = await use(victim);
  if (!outcome.served) throw new Violation(`it started and did not serve: ${outcome.why}`);
  const exit = await victim.weir.stop();
  if (exit.code !== 0) throw new Violation(`it stopped with ${exit.code ?? exit.signal}`);
  return fired ? SERVED : undefined;
}

/** @param text of the failed start, with what Weir wrote. */
function refusal({ fault }: Failure, text: string): Outcome {
  const { [fault]: own = fault } = OWN_WORDS;
  if (!text.includes('ended (1)')) throw new Violation(`no orderly end: ${text}`);
  if (![...namesOf(fault), own].some((name) => text.includes(name))) {
    throw new Violation(`the cause is not named: ${text}`);
  }
  return unserved('it did not start');
}

async function startRelay(limits: Limits, report: (line: string) => void): Promise<Result> {
  await using echo = await checkedEcho();
  const use: Use = (victim) =>
    exchange(socksConnect(victim.weir.address('socks'), echo.target), echo);
  return await tormentStarts(`${BASE}${socksIn()}${httpIn()}${freedom()}`, use, limits, report);
}

export const STARTS: readonly Torture[] = [
  { name: 'start', run: startRelay },
  {
    name: 'tun-start',
    run: (limits, report) => tormentStarts(TUN_CONFIG, useNetwork, limits, report),
  },
];
