import { open } from '../../support/data/address.ts';
import { Datagrams } from '../../support/netns/program.ts';
import { FAR, PORT } from '../../support/netns/site.ts';
import { endFlows, tunConfig } from '../../support/netns/tun-config.ts';
import { freedom } from '../../support/process/config.ts';
import { exchange, guarded } from '../exchange.ts';
import { SERVED, type Outcome, type Scenario, type Stage } from '../scenario.ts';
import { Victim } from '../victim.ts';

export const TUN_CONFIG = `${tunConfig(freedom())}[log]\nlevel = "debug"\n`;

/** A body there and back, and a datagram. */
export async function useNetwork(): Promise<Outcome> {
  const outcome = await exchange(open({ host: FAR.host, port: PORT.echo }), { wrong: [] });
  return outcome.served ? guarded(echoDatagram) : outcome;
}

async function echoDatagram(): Promise<Outcome> {
  await using datagrams = await Datagrams.open();
  await datagrams.echo(Buffer.from('hello'), FAR.host);
  return SERVED;
}

/** Connections and datagrams of programs of this network, by a device of Weir. */
export const TUN_RELAY: Scenario = {
  name: 'tun',
  start: async (): Promise<Stage> => {
    const victim = await Victim.start(TUN_CONFIG);
    const use = async (): Promise<Outcome> => {
      const outcome = await useNetwork();
      await victim.disarm();
      // An association would stay for five minutes.
      await endFlows(victim.control);
      return outcome;
    };
    return { victim, use, [Symbol.asyncDispose]: () => victim[Symbol.asyncDispose]() };
  },
};
