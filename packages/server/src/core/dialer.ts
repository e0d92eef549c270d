/** The way out of the daemon: the only one. */
export interface OutboundRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  timeoutMs: number;
}

export interface OutboundResponse {
  status: number;
  /** Target of a redirect, which is not followed; null without one. */
  location: string | null;
}

export interface Dialer {
  /** Rejects with an AppError that says why nothing was sent, or no answer came. Redirects are not followed. */
  post(request: OutboundRequest): Promise<OutboundResponse>;
}
