import { NewReno } from '../../../src/congestion/new-reno.ts';
import { SendControl } from '../../../src/congestion/send-control.ts';
import { MtuSearch } from '../../../src/quic/path/mtu-search.ts';
import { Path } from '../../../src/quic/path/path.ts';
import { Paths } from '../../../src/quic/path/paths.ts';
import { SeededRandom } from '../simnet/seeded-random.ts';

/** Addresses are texts: a host and a port. */
export function makePath(
  remote: string,
  {
    validated = false,
    from = undefined as Path<string> | undefined,
    local = undefined as string | undefined,
  } = {},
): Path<string> {
  return new Path({
    remote,
    local,
    control: from?.control ?? new SendControl(new NewReno(1200), 1200),
    mtu: from?.mtu ?? new MtuSearch({ most: 1472 }),
    random: new SeededRandom(remote.length + remote.charCodeAt(0) * 1000),
    validated,
  });
}

const hostOf = (address: string): string => address.replace(/:\d+$/, '');

/** The paths of a server, whose client is at `home:1`, or of a client. */
export function makePaths(role: 'client' | 'server' = 'server', validated = true): Paths<string> {
  return new Paths({
    role,
    rules: {
      isSame: (one, other) => one === other,
      isSameHost: (one, other) => hostOf(one) === hostOf(other),
      copy: (address) => address,
    },
    first: makePath('home:1', { validated }),
    create: (remote, local, from) => makePath(remote, { from, local }),
  });
}
