import { IPPROTO_TCP, TCP_CONGESTION } from '../linux.ts';
import { type OptionSpace, readOption, roundTrips } from '../socket-options.ts';

/** Bytes that a connection sends before its congestion control is looked at, and between two later looks. */
export const LOOK_AFTER = 256 << 10;
export const LOOK_AGAIN_AFTER = 64 << 20;

/**
 * Microseconds of the shortest round trip below which a path is within the machine, or has one fast switch at most:
 * loopback has 3 to 20, a veth pair as much.
 */
const WITHIN_MACHINE = 50;
/**
 * Microseconds of the smoothed round trip from which on the shortest is not that of the path: with the SYNPROXY of
 * netfilter the handshake of a far client is one with this machine. Loopback has up to 6,000 under load.
 */
const FAR = 20_000;

/** The longest name of an algorithm (`TCP_CA_NAME_MAX` of net/tcp.h). */
const NAME_BYTES = 16;
/** Algorithms that send at the rate that they have measured. */
const PACED = 'bbr';
/** The one that every process may choose, unless the system excludes it (`tcp_allowed_congestion_control`). */
const UNPACED = 'reno';

/**
 * Replaces BBR by Reno for a connection whose round trips take microseconds, as within the machine.
 *
 * BBR, which many choose for their long paths, paces what it sends by timers and by the rates that it has measured. Where
 * a round trip takes microseconds, both are too coarse: the connection is half as fast and takes twice the processor
 * time. There is little to control either: a window that was halved is whole again after a few milliseconds. Longer paths
 * keep the system's choice.
 */
export function fitCongestionControl(io: OptionSpace, fd: number): void {
  if (readOption(io, fd, IPPROTO_TCP, TCP_CONGESTION, NAME_BYTES) < 0) return;
  if (io.option.bytes.toString('latin1', 0, PACED.length) !== PACED) return;
  const rtt = roundTrips(io, fd);
  if (!rtt || rtt.shortest >= WITHIN_MACHINE || rtt.smoothed >= FAR) return;
  io.option.bytes.write(UNPACED, 'latin1');
  // Where it is refused, the connection stays as it is.
  io.calls.setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, io.option.at, UNPACED.length);
}
