import type { IpEndpoint } from '../../ip/ip-endpoint.ts';

/** The kernel chooses the device by its routes. */
export const ANY_DEVICE = 0;
/** There is no device that may be used. */
export const NO_DEVICE = -1;

/** Chooses the devices by which the sockets of this process send, where its own routes must not. */
export interface DeviceChoice {
  /**
   * Never throws.
   *
   * @param destination its port does not count.
   * @returns the index of an interface, ANY_DEVICE or NO_DEVICE.
   */
  deviceFor(destination: IpEndpoint): number;
  /**
   * Whether this process itself answers what is sent to an address and port, as a service for other
   * programs: a connected socket of its own must not ask there, or it would wait for itself.
   */
  answersItself(destination: IpEndpoint): boolean;
}
