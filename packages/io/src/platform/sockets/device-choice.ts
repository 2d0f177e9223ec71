import type { IpEndpoint } from '@weir/base/ip';

/** The index for which the kernel chooses the device. */
export const ANY_DEVICE = 0;
/** The result if no device may be used. */
export const NO_DEVICE = -1;

/**
 * Chooses the devices through which sockets of this process send, to bypass routes of its own
 * devices.
 */
export interface DeviceChoice {
  /**
   * Returns the device for a destination. Never throws.
   *
   * @param destination its port is ignored.
   * @returns the index of an interface, ANY_DEVICE or NO_DEVICE.
   */
  deviceFor(destination: IpEndpoint): number;
  /**
   * Whether this process itself serves an address and port for other programs: its own sockets must
   * not connect there, or it would wait for itself.
   */
  answersItself(destination: IpEndpoint): boolean;
}
