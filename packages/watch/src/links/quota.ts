/** What a user may use, and has used, as far as it is known. */
export interface Quota {
  /** Bytes of the current period from and to the user. */
  readonly upload?: number | undefined;
  readonly download?: number | undefined;
  /** Bytes of a period in both directions. */
  readonly total?: number | undefined;
  /** When the account ends, in Unix seconds. */
  readonly expire?: number | undefined;
}

/** The quota of a user; `undefined` where nothing is known of it. */
export type QuotaReader = (user: string) => Promise<Quota | undefined>;

/** The value of `subscription-userinfo`, which clients show; `undefined` where nothing is known. */
export function userinfoText(quota: Quota | undefined): string | undefined {
  const { upload, download, total, expire } = quota ?? {};
  const parts = Object.entries({ upload, download, total, expire }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${Math.floor(value)}`],
  );
  return parts.length === 0 ? undefined : parts.join('; ');
}
