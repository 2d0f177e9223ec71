/** A user name with its password, as the `accounts` of several inbounds write it. */
export interface Account {
  readonly user: string;
  readonly pass: string;
}
