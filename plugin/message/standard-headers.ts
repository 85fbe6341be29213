/** Header fields registered for SIP (IANA), long lower-case names: each has a meaning that others count on. */
export const STANDARD_HEADERS: ReadonlySet<string> = new Set(
  `accept accept-contact accept-encoding accept-language accept-resource-priority additional-identity alert-info allow
  allow-events answer-mode attestation-info authentication-info authorization call-id call-info cellular-network-info
  contact content-disposition content-encoding content-id content-language content-length content-type cseq date dc-info
  encryption error-info event expires feature-caps flow-timer from geolocation geolocation-error geolocation-routing hide
  history-info identity identity-info info-package in-reply-to join max-breadth max-forwards mime-version min-expires
  min-se organization origination-id p-access-network-info p-answer-state p-asserted-identity p-asserted-service
  p-associated-uri p-called-party-id p-charge-info p-charging-function-addresses p-charging-vector
  p-dcs-trace-party-id p-dcs-osps p-dcs-billing-info p-dcs-laes p-dcs-redirect p-early-media p-media-authorization
  p-preferred-identity p-preferred-service p-private-network-indication p-profile-key p-refused-uri-list p-served-user
  p-user-database p-visited-network-id path permission-missing policy-contact policy-id priority priority-share
  priority-verstat privacy proxy-authenticate proxy-authorization proxy-require rack reason reason-phrase
  record-route recv-info refer-events-at refer-sub refer-to referred-by reject-contact relayed-charge remote-party-id
  replaces reply-to request-disposition require resource-priority resource-share response-key response-source
  restoration-info retry-after route rseq security-client security-server security-verify server service-interact-info
  service-route session-expires session-id sip-etag sip-if-match subject subscription-state supported
  suppress-if-match target-dialog timestamp to trigger-consent unsupported user-agent user-to-user via warning
  www-authenticate`.split(/\s+/),
);
