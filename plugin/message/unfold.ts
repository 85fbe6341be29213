/** A fold (a line end followed by blanks) is one space (RFC 3261 §7.3.1). */
export const unfold = (text: string): string =>
  text.includes('\r') ? text.replace(/\r\n[ \t]+/g, ' ') : text;
