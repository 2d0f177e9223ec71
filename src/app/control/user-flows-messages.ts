/** Which flows of an inbound are meant, and whether they are closed. */
export interface UserFlowsRequest {
  readonly inbound: string;
  /** Only those with this label. */
  readonly user?: string | undefined;
  /** Only those whose account has been removed, or has another secret, since they were opened. */
  readonly removed: boolean;
  /** Closes them; otherwise they are only counted. */
  readonly close: boolean;
}

/** The response to `user-flows`. */
export interface UserFlowsResponse {
  readonly kind: 'flows';
  readonly count: number;
}

/** `undefined` for anything but a request. */
export function toUserFlowsRequest(text: string): UserFlowsRequest | undefined {
  const parsed = objectIn(text);
  const { inbound, user, removed, close } = parsed ?? {};
  if (typeof inbound !== 'string' || typeof removed !== 'boolean') return undefined;
  if (typeof close !== 'boolean') return undefined;
  if (user !== undefined && typeof user !== 'string') return undefined;
  return { inbound, user, removed, close };
}

/** The number in a response; `undefined` for anything else. */
export function toUserFlows(parsed: unknown): number | undefined {
  if (typeof parsed !== 'object' || parsed === null || !('count' in parsed)) return undefined;
  return typeof parsed.count === 'number' ? parsed.count : undefined;
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : undefined;
  } catch {
    return undefined;
  }
}
