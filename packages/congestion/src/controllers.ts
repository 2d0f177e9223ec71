import { Bbr } from './bbr/bbr.ts';
import { Brutal } from './brutal.ts';
import type { CreateController } from './controller.ts';
import { Cubic } from './cubic.ts';
import { NewReno } from './classic-window.ts';

/*
 * Factories of the congestion controllers of this folder, to be passed to a connection. QUIC and TCP know the contract
 * alone, so that another controller is a class beside them.
 */

/** NewReno (RFC 9002 §7). */
export const newReno: CreateController = (mtu) => new NewReno(mtu);

/** CUBIC (RFC 9438), with HyStart++ (RFC 9406). */
export const cubic: CreateController = (mtu) => new Cubic(mtu);

/** BBR, version 3 (draft-ietf-ccwg-bbr). */
export const bbr: CreateController = (mtu, random) => new Bbr(mtu, random);

/** Sends at a fixed rate, whatever is lost: Brutal. @param bytesPerSecond above 0. */
export const fixedRate =
  (bytesPerSecond: number): CreateController =>
  (mtu) =>
    new Brutal(bytesPerSecond / 1000, mtu);
