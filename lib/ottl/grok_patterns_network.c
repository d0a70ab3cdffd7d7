/* Grok patterns of the logs of firewalls, name servers and network monitors. */
#include "lib/ottl/grok.h"

#define SOURCE      "%{IP:source.address}/%{INT:source.port:int}"
#define DESTINATION "%{IP:destination.address}/%{INT:destination.port:int}"

const struct grok_pattern grok_network[] = {
    /* NetScreen, Cisco ASA, iptables, Shorewall, SuSEfirewall2 */
    {"NETSCREENSESSIONLOG",
     "%{SYSLOGTIMESTAMP:timestamp} %{IPORHOST:observer.hostname} %{NOTSPACE:observer.name}: "
     "(?P<observer___product>NetScreen) device_id=%{WORD:netscreen.device_id} "
     ".*?(?:system-(?:\\w+)-%{NONNEGINT:event.code}\\(%{WORD:netscreen.session.type}\\))?: "
     "start_time=\"%{DATA:netscreen.session.start_time}\" "
     "duration=%{INT:netscreen.session.duration:int} policy_id=%{INT:netscreen.policy_id} "
     "service=%{DATA:netscreen.service} proto=%{INT:netscreen.protocol_number:int} src "
     "zone=%{WORD:observer.ingress.zone} dst zone=%{WORD:observer.egress.zone} "
     "action=%{WORD:event.action} sent=%{INT:source.bytes:long} "
     "rcvd=%{INT:destination.bytes:long} src=%{IPORHOST:source.address} "
     "dst=%{IPORHOST:destination.address}(?: src_port=%{INT:source.port:int} "
     "dst_port=%{INT:destination.port:int})?(?: src-xlated ip=%{IP:source.nat.ip} "
     "port=%{INT:source.nat.port:int} dst-xlated ip=%{IP:destination.nat.ip} "
     "port=%{INT:destination.nat.port:int})?(?: session_id=%{INT:netscreen.session.id} "
     "reason=%{GREEDYDATA:netscreen.session.reason})?"},
    {"CISCO_TAGGED_SYSLOG", "^<%{POSINT:log.syslog.priority:int}>%{CISCOTIMESTAMP:timestamp}(?: "
                            "%{SYSLOGHOST:host.name})? ?: %%{CISCOTAG:cisco.asa.tag}:"},
    {"CISCOTIMESTAMP", "%{MONTH} +%{MONTHDAY}(?: %{YEAR})? %{TIME}"},
    {"CISCOTAG", "[A-Z0-9]+-%{INT}-(?:[A-Z0-9_]+)"},
    {"CISCO_ACTION",
     "Built|Teardown|Deny|Denied|denied by "
     "ACL|requested|permitted|denied|discarded|est-allowed|Dropping|created|deleted"},
    {"CISCO_REASON",
     "Duplicate TCP SYN|Failed to locate egress interface|Invalid transport field|No matching "
     "connection|DNS Response|DNS Query|(?:%{WORD}\\s*)*"},
    {"CISCO_DIRECTION", "Inbound|inbound|Outbound|outbound"},
    {"CISCO_INTERVAL", "first hit|%{INT}-second interval"},
    {"CISCO_XLATE_TYPE", "static|dynamic"},
    {"CISCO_HITCOUNT_INTERVAL",
     "hit-cnt %{INT:cisco.asa.hit_count:int} (?:first hit|%{INT:cisco.asa.interval:int}-second "
     "interval)"},
    {"CISCO_SRC_IP_USER", "%{NOTSPACE:observer.ingress.interface.name}:%{IP:source.address}(?:\\(%{"
                          "DATA:source.user.name}\\))?"},
    {"CISCO_DST_IP_USER", "%{NOTSPACE:observer.egress.interface.name}:%{IP:destination.address}(?:"
                          "\\(%{DATA:destination.user.name}\\))?"},
    {"CISCO_SRC_HOST_PORT_USER",
     "%{NOTSPACE:observer.ingress.interface.name}:(?:%{IP:source.address}|%{HOSTNAME:source."
     "address})(?:/%{INT:source.port:int})?(?:\\(%{DATA:source.user.name}\\))?"},
    {"CISCO_DST_HOST_PORT_USER",
     "%{NOTSPACE:observer.egress.interface.name}:(?:%{IP:destination.address}|%{HOSTNAME:"
     "destination.address})(?:/"
     "%{INT:destination.port:int})?(?:\\(%{DATA:destination.user.name}\\))?"},
    {"CISCOFW104001",
     "\\((?:Primary|Secondary)\\) Switching to ACTIVE - %{GREEDYDATA:event.reason}"},
    {"CISCOFW104002",
     "\\((?:Primary|Secondary)\\) Switching to STANDBY - %{GREEDYDATA:event.reason}"},
    {"CISCOFW104003", "\\((?:Primary|Secondary)\\) Switching to FAILED\\."},
    {"CISCOFW104004", "\\((?:Primary|Secondary)\\) Switching to OK\\."},
    {"CISCOFW105003",
     "\\((?:Primary|Secondary)\\) Monitoring on [Ii]nterface %{NOTSPACE:network.interface.name} "
     "waiting"},
    {"CISCOFW105004",
     "\\((?:Primary|Secondary)\\) Monitoring on [Ii]nterface %{NOTSPACE:network.interface.name} "
     "normal"},
    {"CISCOFW105005",
     "\\((?:Primary|Secondary)\\) Lost Failover communications with mate on [Ii]nterface "
     "%{NOTSPACE:network.interface.name}"},
    {"CISCOFW105008",
     "\\((?:Primary|Secondary)\\) Testing [Ii]nterface %{NOTSPACE:network.interface.name}"},
    {"CISCOFW105009",
     "\\((?:Primary|Secondary)\\) Testing on [Ii]nterface %{NOTSPACE:network.interface.name} "
     "(?:Passed|Failed)"},
    {"CISCOFW106001",
     "%{CISCO_DIRECTION:cisco.asa.network.direction} %{WORD:cisco.asa.network.transport} "
     "connection %{CISCO_ACTION:cisco.asa.outcome} from " SOURCE " to " DESTINATION " flags "
     "%{DATA:cisco.asa.tcp_flags} on interface %{NOTSPACE:observer.egress.interface.name}"},
    {"CISCOFW106006_106007_106010",
     "%{CISCO_ACTION:cisco.asa.outcome} %{CISCO_DIRECTION:cisco.asa.network.direction} "
     "%{WORD:cisco.asa.network.transport} (?:from|src) " SOURCE
     "(?:\\(%{DATA:source.user.name}\\))? (?:to|dst) " DESTINATION
     "(?:\\(%{DATA:destination.user.name}\\))? (?:(?:on interface "
     "%{NOTSPACE:observer.egress.interface.name})|(?:due to %{CISCO_REASON:event.reason}))"},
    {"CISCOFW106014",
     "%{CISCO_ACTION:cisco.asa.outcome} %{CISCO_DIRECTION:cisco.asa.network.direction} "
     "%{WORD:cisco.asa.network.transport} src %{CISCO_SRC_IP_USER} dst "
     "%{CISCO_DST_IP_USER}\\s?\\(type %{INT:cisco.asa.icmp_type:int}, code "
     "%{INT:cisco.asa.icmp_code:int}\\)"},
    {"CISCOFW106015",
     "%{CISCO_ACTION:cisco.asa.outcome} %{WORD:cisco.asa.network.transport} "
     "\\(%{DATA:cisco.asa.rule_name}\\) from " SOURCE " to " DESTINATION " flags "
     "%{DATA:cisco.asa.tcp_flags} on interface %{NOTSPACE:observer.egress.interface.name}"},
    {"CISCOFW106021",
     "%{CISCO_ACTION:cisco.asa.outcome} %{WORD:cisco.asa.network.transport} reverse path check "
     "from %{IP:source.address} to %{IP:destination.address} on interface "
     "%{NOTSPACE:observer.egress.interface.name}"},
    {"CISCOFW106023", "%{CISCO_ACTION:action}(?: protocol)? %{WORD:network.protocol.name} src "
                      "%{DATA:source.interface}:%{DATA:source.address}(?:/"
                      "%{INT:source.port})?(?:\\(%{DATA:source.fwuser}\\))? "
                      "dst "
                      "%{DATA:destination.interface}:%{DATA:destination.address}(?:/"
                      "%{INT:destination.port})?(?:\\(%{DATA:destination.fwuser}\\))?(?: "
                      "\\(type %{INT:icmp_type}, code %{INT:icmp_code}\\))? by access-group "
                      "\"?%{DATA:policy_id}\"? \\[%{DATA:hashcode1}, %{DATA:hashcode2}\\]"},
    {"CISCOFW106100_2_3",
     "access-list %{NOTSPACE:cisco.asa.rule_name} %{CISCO_ACTION:cisco.asa.outcome} "
     "%{WORD:cisco.asa.network.transport} for user '%{DATA:user.name}' "
     "%{DATA:observer.ingress.interface.name}/%{IP:source.address}\\(%{INT:source.port:int}\\) "
     "-> "
     "%{DATA:observer.egress.interface.name}/"
     "%{IP:destination.address}\\(%{INT:destination.port:int}\\) "
     "%{CISCO_HITCOUNT_INTERVAL} \\[%{DATA:metadata.cisco.asa.hashcode1}, "
     "%{DATA:metadata.cisco.asa.hashcode2}\\]"},
    {"CISCOFW106100",
     "access-list %{NOTSPACE:cisco.asa.rule_name} %{CISCO_ACTION:cisco.asa.outcome} "
     "%{WORD:cisco.asa.network.transport} "
     "%{DATA:observer.ingress.interface.name}/"
     "%{IP:source.address}\\(%{INT:source.port:int}\\)(?:\\(%{DATA:source.user.name}\\))? "
     "-> "
     "%{DATA:observer.egress.interface.name}/"
     "%{IP:destination.address}\\(%{INT:destination.port:int}\\)(?:\\(%{DATA:source.user.name}\\))?"
     " "
     "hit-cnt %{INT:cisco.asa.hit_count:int} %{CISCO_INTERVAL} "
     "\\[%{DATA:metadata.cisco.asa.hashcode1}, %{DATA:metadata.cisco.asa.hashcode2}\\]"},
    {"CISCOFW304001", "%{IP:source.address}(?:\\(%{DATA:source.user.name}\\))? Accessed URL "
                      "%{IP:destination.address}:%{GREEDYDATA:url.original}"},
    {"CISCOFW110002", "%{CISCO_REASON:event.reason} for %{WORD:cisco.asa.network.transport} from "
                      "%{DATA:observer.ingress.interface.name}:" SOURCE " to " DESTINATION},
    {"CISCOFW302010",
     "%{INT:cisco.asa.connections.in_use:int} in use, %{INT:cisco.asa.connections.most_used:int} "
     "most used"},
    {"CISCOFW302013_302014_302015_302016",
     "%{CISCO_ACTION:cisco.asa.outcome}(?: %{CISCO_DIRECTION:cisco.asa.network.direction})? "
     "%{WORD:cisco.asa.network.transport} connection %{INT:cisco.asa.connection_id} for "
     "%{NOTSPACE:observer.ingress.interface.name}:" SOURCE "(?: "
     "\\(%{IP:source.nat.ip}/%{INT:source.nat.port:int}\\))?(?:\\(%{DATA:source.user.name?}\\))? "
     "to %{NOTSPACE:observer.egress.interface.name}:" DESTINATION "(?: "
     "\\(%{IP:destination.nat.ip}/"
     "%{INT:destination.nat.port:int}\\))?(?:\\(%{DATA:destination.user.name}\\))?(?: "
     "duration %{TIME:cisco.asa.duration} bytes %{INT:network.bytes:long})?(?: "
     "%{CISCO_REASON:event.reason})?(?: \\(%{DATA:user.name}\\))?"},
    {"CISCOFW302020_302021",
     "%{CISCO_ACTION:cisco.asa.outcome}(?: %{CISCO_DIRECTION:cisco.asa.network.direction})? "
     "%{WORD:cisco.asa.network.transport} connection for faddr "
     "%{IP:destination.address}/"
     "%{INT:cisco.asa.icmp_seq:int}(?:\\(%{DATA:destination.user.name}\\))? "
     "gaddr %{IP:source.nat.ip}/%{INT:cisco.asa.icmp_type:int} laddr "
     "%{IP:source.address}/%{INT}(?: \\(%{DATA:source.user.name}\\))?"},
    {"CISCOFW305011",
     "%{CISCO_ACTION:cisco.asa.outcome} %{CISCO_XLATE_TYPE} %{WORD:cisco.asa.network.transport} "
     "translation from "
     "%{DATA:observer.ingress.interface.name}:%{IP:source.address}(?:/"
     "%{INT:source.port:int})?(?:\\(%{DATA:source.user.name}\\))? "
     "to %{DATA:observer.egress.interface.name}:" DESTINATION},
    {"CISCOFW313001_313004_313008",
     "%{CISCO_ACTION:cisco.asa.outcome} %{WORD:cisco.asa.network.transport} "
     "type=%{INT:cisco.asa.icmp_type:int}, code=%{INT:cisco.asa.icmp_code:int} from "
     "%{IP:source.address} on interface %{NOTSPACE:observer.egress.interface.name}(?: to "
     "%{IP:destination.address})?"},
    {"CISCOFW313005",
     "%{CISCO_REASON:event.reason} for %{WORD:cisco.asa.network.transport} error message: "
     "%{WORD} src %{CISCO_SRC_IP_USER} dst %{CISCO_DST_IP_USER} \\(type "
     "%{INT:cisco.asa.icmp_type:int}, code %{INT:cisco.asa.icmp_code:int}\\) on %{NOTSPACE} "
     "interface\\.\\s+Original IP payload: "
     "%{WORD:cisco.asa.original_ip_payload.network.transport} src "
     "%{IP:cisco.asa.original_ip_payload.source.address}/"
     "%{INT:cisco.asa.original_ip_payload.source.port:int}(?:\\(%{DATA:cisco.asa.original_ip_"
     "payload.source.user.name}\\))? "
     "dst "
     "%{IP:cisco.asa.original_ip_payload.destination.address}/"
     "%{INT:cisco.asa.original_ip_payload.destination.port:int}(?:\\(%{DATA:cisco.asa.original_ip_"
     "payload.destination.user.name}\\))?"},
    {"CISCOFW321001",
     "Resource '%{DATA:cisco.asa.resource.name}' limit of %{POSINT:cisco.asa.resource.limit:int} "
     "reached for system"},
    {"CISCOFW402117",
     "%{WORD:cisco.asa.network.type}: Received a non-IPSec packet "
     "\\(protocol=\\s?%{WORD:cisco.asa.network.transport}\\) from %{IP:source.address} to "
     "%{IP:destination.address}\\.?"},
    {"CISCOFW402119",
     "%{WORD:cisco.asa.network.type}: Received an %{WORD:cisco.asa.ipsec.protocol} packet "
     "\\(SPI=\\s?%{DATA:cisco.asa.ipsec.spi}, sequence "
     "number=\\s?%{DATA:cisco.asa.ipsec.seq_num}\\) from %{IP:source.address} "
     "\\(user=\\s?%{DATA:source.user.name}\\) to %{IP:destination.address} that failed "
     "anti-replay checking\\.?"},
    {"CISCOFW419001",
     "%{CISCO_ACTION:cisco.asa.outcome} %{WORD:cisco.asa.network.transport} packet from "
     "%{NOTSPACE:observer.ingress.interface.name}:" SOURCE " to "
     "%{NOTSPACE:observer.egress.interface.name}:" DESTINATION ", reason: "
     "%{GREEDYDATA:event.reason}"},
    {"CISCOFW419002",
     "%{CISCO_REASON:event.reason} from %{DATA:observer.ingress.interface.name}:" SOURCE " to "
     "%{DATA:observer.egress.interface.name}:" DESTINATION " with different initial sequence "
     "number"},
    {"CISCOFW500004",
     "%{CISCO_REASON:event.reason} for protocol=%{WORD:cisco.asa.network.transport}, from " SOURCE
     " to " DESTINATION},
    {"CISCOFW602303_602304",
     "%{WORD:cisco.asa.network.type}: An %{CISCO_DIRECTION:cisco.asa.network.direction} "
     "%{DATA:cisco.asa.ipsec.tunnel_type} SA \\(SPI=%{DATA:cisco.asa.ipsec.spi}\\) between "
     "%{IP:source.address} and %{IP:destination.address} \\(user=%{DATA:source.user.name}\\) has "
     "been %{CISCO_ACTION:cisco.asa.outcome}"},
    {"CISCOFW710001_710002_710003_710005_710006",
     "%{WORD:cisco.asa.network.transport} (?:request|access) %{CISCO_ACTION:cisco.asa.outcome} "
     "from " SOURCE " to %{DATA:observer.egress.interface.name}:" DESTINATION},
    {"CISCOFW713172",
     "Group = %{DATA:cisco.asa.source.group}, IP = %{IP:source.address}, Automatic NAT Detection "
     "Status:\\s+Remote end\\s*%{DATA:metadata.cisco.asa.remote_nat}\\s*behind a NAT "
     "device\\s+This\\s+end\\s*%{DATA:metadata.cisco.asa.local_nat}\\s*behind a NAT device"},
    {"IPTABLES_TCP_FLAGS", "(?:CWR |ECE |URG |ACK |PSH |RST |SYN |FIN )*"},
    {"IPTABLES_TCP_PART",
     "(?:SEQ=%{INT:iptables.tcp.seq:int}\\s+)?(?:ACK=%{INT:iptables.tcp.ack:int}\\s+)?WINDOW=%{INT:"
     "iptables.tcp.window:int}\\s+RES=0x%{BASE16NUM:iptables.tcp_reserved_bits}\\s+%{IPTABLES_TCP_"
     "FLAGS:iptables.tcp.flags}"},
    {"IPTABLES4_FRAG", "(?:(?:\\s)?(?:CE|DF|MF))*"},
    {"IPTABLES4_PART",
     "SRC=%{IPV4:source.address}\\s+DST=%{IPV4:destination.address}\\s+LEN=(?:%{INT:iptables."
     "length:int})?\\s+TOS=(?:0|0x%{BASE16NUM:iptables.tos})?\\s+PREC=(?:0x%{BASE16NUM:iptables."
     "precedence_bits})?\\s+TTL=(?:%{INT:iptables.ttl:int})?\\s+ID=(?:%{INT:iptables.id})?\\s+(?:%{"
     "IPTABLES4_FRAG:iptables.fragment_flags})?(?:\\s+FRAG: "
     "%{INT:iptables.fragment_offset:int})?"},
    {"IPTABLES6_PART",
     "SRC=%{IPV6:source.address}\\s+DST=%{IPV6:destination.address}\\s+LEN=(?:%{INT:iptables."
     "length:int})?\\s+TC=(?:0|0x%{BASE16NUM:iptables.tos})?\\s+HOPLIMIT=(?:%{INT:iptables.ttl:int}"
     ")?\\s+FLOWLBL=(?:%{INT:iptables.flow_label})?"},
    {"IPTABLES",
     "IN=(?:%{NOTSPACE:observer.ingress.interface.name})?\\s+OUT=(?:%{NOTSPACE:observer.egress."
     "interface.name})?\\s+(?:MAC=(?:%{COMMONMAC:destination.mac})?(?::%{COMMONMAC:source.mac})?(?:"
     ":A-Fa-f0-9{2}:A-Fa-f0-9{2})?\\s+)?(?::?%{IPTABLES4_PART}|%{IPTABLES6_PART}).*?PROTO=(?:%{"
     "WORD:network.transport})?\\s+SPT=(?:%{INT:source.port:int})?\\s+DPT=(?:%{INT:destination."
     "port:int})?\\s+(?:%{IPTABLES_TCP_PART})?"},
    {"SHOREWALL", "%{SYSLOGTIMESTAMP:timestamp} %{WORD:observer.hostname} "
                  ".*Shorewall:(?:%{WORD:shorewall.firewall.type})?:(?:%{WORD:shorewall.firewall."
                  "action})?.*%{IPTABLES}"},
    {"SFW2_LOG_PREFIX", "SFW2\\-INext\\-%{NOTSPACE:suse.firewall.action}"},
    {"SFW2", "(?:%{SYSLOGTIMESTAMP:timestamp}|%{TIMESTAMP_ISO8601:timestamp})\\s*%{HOSTNAME:"
             "observer.hostname}.*?%{SFW2_LOG_PREFIX:suse.firewall.log_prefix}\\s*%{IPTABLES}"},
    /* Junos */
    {"RT_FLOW_TAG", "RT_FLOW_SESSION_CREATE|RT_FLOW_SESSION_CLOSE|RT_FLOW_SESSION_DENY"},
    {"RT_FLOW_EVENT", "%{RT_FLOW_TAG}"},
    {"RT_FLOW1", "%{RT_FLOW_TAG:juniper.srx.tag}: %{GREEDYDATA:juniper.srx.reason}: " SOURCE
                 "->" DESTINATION " %{DATA:juniper.srx.service_name} "
                 "%{IP:source.nat.ip}/%{INT:source.nat.port:int}->%{IP:destination.nat.ip}/"
                 "%{INT:destination.nat.port:int} "
                 "(?:None|%{DATA:juniper.srx.src_nat_rule_name}) "
                 "(?:None|%{DATA:juniper.srx.dst_nat_rule_name}) %{INT:network.iana_number} "
                 "%{DATA:rule.name} %{DATA:observer.ingress.zone} %{DATA:observer.egress.zone} "
                 "%{INT:juniper.srx.session_id} \\d+\\(%{INT:source.bytes:long}\\) "
                 "\\d+\\(%{INT:destination.bytes:long}\\) %{INT:juniper.srx.elapsed_time:int} .*"},
    {"RT_FLOW2", "%{RT_FLOW_TAG:juniper.srx.tag}: session created " SOURCE "->" DESTINATION " "
                 "%{DATA:juniper.srx.service_name} "
                 "%{IP:source.nat.ip}/%{INT:source.nat.port:int}->%{IP:destination.nat.ip}/"
                 "%{INT:destination.nat.port:int} "
                 "(?:None|%{DATA:juniper.srx.src_nat_rule_name}) "
                 "(?:None|%{DATA:juniper.srx.dst_nat_rule_name}) %{INT:network.iana_number} "
                 "%{DATA:rule.name} %{DATA:observer.ingress.zone} %{DATA:observer.egress.zone} "
                 "%{INT:juniper.srx.session_id} .*"},
    {"RT_FLOW3",
     "%{RT_FLOW_TAG:juniper.srx.tag}: session denied " SOURCE "->" DESTINATION " "
     "%{DATA:juniper.srx.service_name} %{INT:network.iana_number}\\(\\d\\) %{DATA:rule.name} "
     "%{DATA:observer.ingress.zone} %{DATA:observer.egress.zone} (?:.*)?"},
    /* BIND 9 */
    {"BIND9_TIMESTAMP", "%{MONTHDAY}-%{MONTH}-%{YEAR} %{TIME}"},
    {"BIND9_DNSTYPE",
     "A|AAAA|CAA|CDNSKEY|CDS|CERT|CNAME|CSYNC|DLV|DNAME|DNSKEY|DS|HINFO|LOC|MX|NAPTR|NS|NSEC|NSEC3|"
     "OPENPGPKEY|PTR|RRSIG|RP|SIG|SMIMEA|SOA|SRV|TSIG|TXT|URI|IN"},
    {"BIND9_CATEGORY", "queries"},
    {"BIND9_QUERYLOGBASE",
     "client(?::? @0x(?:[0-9A-Fa-f]+))? %{IP:client.address}#%{POSINT:client.port:int} "
     "\\(%{GREEDYDATA:bind.log.question.name}\\): query: %{GREEDYDATA:dns.question.name} "
     "(?P<dns___question___class>(?:IN)) %{BIND9_DNSTYPE:dns.question.type}(?::? "
     "%{DATA:bind.log.question.flags})? \\(%{IP:server.address}\\)"},
    {"BIND9_QUERYLOG",
     "%{BIND9_TIMESTAMP:timestamp} %{BIND9_CATEGORY:bing.log.category}: %{LOGLEVEL:log.level}: "
     "%{BIND9_QUERYLOGBASE}"},
    {"BIND9", "%{BIND9_QUERYLOG}"},
    /* Zeek, which was Bro */
    {"BRO_BOOL", "[TF]"},
    {"BRO_DATA", "[^\\t]+"},
    {"BRO_HTTP",
     "%{NUMBER:timestamp}\\t%{NOTSPACE:zeek.session_id}\\t%{IP:source.address}\\t"
     "%{INT:source.port:int}\\t%{IP:destination.address}\\t%{INT:destination.port:int}\\t"
     "%{INT:zeek.http.trans_depth:int}\\t(?:-|%{WORD:http.request.method})\\t"
     "(?:-|%{BRO_DATA:url.domain})\\t(?:-|%{BRO_DATA:url.original})\\t"
     "(?:-|%{BRO_DATA:http.request.referrer})\\t(?:-|%{BRO_DATA:user_agent.original})\\t"
     "(?:-|%{NUMBER:http.request.body.size:long})\\t"
     "(?:-|%{NUMBER:http.response.body.size:long})\\t"
     "(?:-|%{POSINT:http.response.status_code:int})\\t(?:-|%{DATA:zeek.http.status_msg})\\t"
     "(?:-|%{POSINT:zeek.http.info_code:int})\\t(?:-|%{DATA:zeek.http.info_msg})\\t"
     "(?:-|%{BRO_DATA:zeek.http.filename})\\t(?:\\(empty\\)|%{BRO_DATA:zeek.http.tags})\\t"
     "(?:-|%{BRO_DATA:url.username})\\t(?:-|%{BRO_DATA:url.password})\\t"
     "(?:-|%{BRO_DATA:zeek.http.proxied})\\t(?:-|%{BRO_DATA:zeek.http.orig_fuids})\\t"
     "(?:-|%{BRO_DATA:http.request.mime_type})\\t(?:-|%{BRO_DATA:zeek.http.resp_fuids})\\t"
     "(?:-|%{BRO_DATA:http.response.mime_type})"},
    {"BRO_DNS",
     "%{NUMBER:timestamp}\\t%{NOTSPACE:zeek.session_id}\\t%{IP:source.address}\\t"
     "%{INT:source.port:int}\\t%{IP:destination.address}\\t%{INT:destination.port:int}\\t"
     "%{WORD:network.transport}\\t(?:-|%{INT:dns.id:int})\\t"
     "(?:-|%{BRO_DATA:dns.question.name})\\t(?:-|%{INT:zeek.dns.qclass:int})\\t"
     "(?:-|%{BRO_DATA:zeek.dns.qclass_name})\\t(?:-|%{INT:zeek.dns.qtype:int})\\t"
     "(?:-|%{BRO_DATA:dns.question.type})\\t(?:-|%{INT:zeek.dns.rcode:int})\\t"
     "(?:-|%{BRO_DATA:dns.response_code})\\t(?:-|%{BRO_BOOL:zeek.dns.AA})\\t"
     "(?:-|%{BRO_BOOL:zeek.dns.TC})\\t(?:-|%{BRO_BOOL:zeek.dns.RD})\\t"
     "(?:-|%{BRO_BOOL:zeek.dns.RA})\\t(?:-|%{NONNEGINT:zeek.dns.Z:int})\\t"
     "(?:-|%{BRO_DATA:zeek.dns.answers})\\t(?:-|%{DATA:zeek.dns.TTLs})\\t"
     "(?:-|%{BRO_BOOL:zeek.dns.rejected})"},
    {"BRO_CONN",
     "%{NUMBER:timestamp}\\t%{NOTSPACE:zeek.session_id}\\t%{IP:source.address}\\t"
     "%{INT:source.port:int}\\t%{IP:destination.address}\\t%{INT:destination.port:int}\\t"
     "%{WORD:network.transport}\\t(?:-|%{BRO_DATA:network.protocol.name})\\t"
     "(?:-|%{NUMBER:zeek.connection.duration:float})\\t"
     "(?:-|%{INT:zeek.connection.orig_bytes:long})\\t"
     "(?:-|%{INT:zeek.connection.resp_bytes:long})\\t(?:-|%{BRO_DATA:zeek.connection.state})\\t"
     "(?:-|%{BRO_BOOL:zeek.connection.local_orig})\\t"
     "(?:(?:-|%{BRO_BOOL:zeek.connection.local_resp})\\t"
     ")?(?:-|%{INT:zeek.connection.missed_bytes:long})\\t"
     "(?:-|%{BRO_DATA:zeek.connection.history})\\t(?:-|%{INT:source.packets:long})\\t"
     "(?:-|%{INT:source.bytes:long})\\t(?:-|%{INT:destination.packets:long})\\t"
     "(?:-|%{INT:destination.bytes:long})\\t"
     "(?:\\(empty\\)|%{BRO_DATA:zeek.connection.tunnel_parents})"},
    {"BRO_FILES",
     "%{NUMBER:timestamp}\\t%{NOTSPACE:zeek.files.fuid}\\t(?:-|%{IP:server.address})\\t"
     "(?:-|%{IP:client.address})\\t(?:-|%{BRO_DATA:zeek.files.session_ids})\\t"
     "(?:-|%{BRO_DATA:zeek.files.source})\\t(?:-|%{INT:zeek.files.depth:int})\\t"
     "(?:-|%{BRO_DATA:zeek.files.analyzers})\\t(?:-|%{BRO_DATA:file.mime_type})\\t"
     "(?:-|%{BRO_DATA:file.name})\\t(?:-|%{NUMBER:zeek.files.duration:float})\\t"
     "(?:-|%{BRO_DATA:zeek.files.local_orig})\\t(?:-|%{BRO_BOOL:zeek.files.is_orig})\\t"
     "(?:-|%{INT:zeek.files.seen_bytes:long})\\t(?:-|%{INT:file.size:long})\\t"
     "(?:-|%{INT:zeek.files.missing_bytes:long})\\t(?:-|%{INT:zeek.files.overflow_bytes:long})\\t"
     "(?:-|%{BRO_BOOL:zeek.files.timedout})\\t(?:-|%{BRO_DATA:zeek.files.parent_fuid})\\t"
     "(?:-|%{BRO_DATA:file.hash.md5})\\t(?:-|%{BRO_DATA:file.hash.sha1})\\t"
     "(?:-|%{BRO_DATA:file.hash.sha256})\\t(?:-|%{BRO_DATA:zeek.files.extracted})"},
    {0},
};
