import type { ByteLink } from '@weir/io/links';
import { atOnce } from '@weir/io/time';
import {
  VmessInbound,
  VmessUsers,
} from '../../../../packages/proxy/src/protocols/vmess/inbound.ts';
import { VmessOutbound } from '../../../../packages/proxy/src/protocols/vmess/outbound.ts';
import type { VmessSecurity } from '../../../../packages/proxy/src/protocols/vmess/settings.ts';
import { KnownRandom } from '../../known-random.ts';
import type { ManualClock } from '../../manual-clock.ts';
import { carrierOf, type InboundFixture } from '../socks/harness.ts';
import { type ClientFixture, clientOf, serverOf } from '../tunnel-harness.ts';

/** Accounts that exist in these tests alone. */
export const ID = 'b8314fca25d94e0c9a1b1d3a5c7e9f10';
export const OTHER_ID = '00000000000040008000000000000001';

export const inbound = (clock?: ManualClock): InboundFixture =>
  serverOf(
    (context) =>
      new VmessInbound(
        atOnce(VmessUsers.of([{ id: ID }], context)),
        context,
        new KnownRandom('server'),
      ),
    'vmess-in',
    clock,
  );

export interface OutboundOptions {
  readonly security: VmessSecurity;
  readonly clock: ManualClock;
  readonly seed: string;
}

/** An outbound whose carrier is `link`. */
export const outbound = (
  link: ByteLink,
  { security, clock, seed }: OutboundOptions,
): ClientFixture =>
  clientOf(
    (context) => new VmessOutbound({ id: ID, security }, context, new KnownRandom(seed)),
    () => Promise.resolve(carrierOf(link)),
    clock,
  );
