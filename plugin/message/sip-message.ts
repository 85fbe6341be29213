/** placeholder replaced by the message room's first commit */
export interface SipMessage {
  readonly raw: string;
}
