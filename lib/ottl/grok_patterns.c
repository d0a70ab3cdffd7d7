/* The names that Grok patterns refer to without defining them: those of elastic/go-grok 0.3.1 but
 * for CISCOFW733100, which is no regular expression there. What has no key captures nothing. */
#include "lib/ottl/grok.h"

#define HEX   "[0-9A-Fa-f]"
#define OCTET "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define FOUR  "(?:" OCTET "(?:\\." OCTET "){3})"
#define PART  HEX "{1,4}"
#define LABEL "[0-9A-Za-z][0-9A-Za-z-]{0,62}"

/* An IPv6 address by the number of parts in front of the colon that stands for zeros, or of all
 * (RFC 4291, 2.2). */
#define IPV6                                                                                       \
    "(?:(?:" PART ":){7}(?:" PART "|:)|(?:" PART ":){6}(?::" PART "|" FOUR "|:)|"                  \
    "(?:" PART ":){5}(?:(?::" PART "){1,2}|:" FOUR "|:)|"                                          \
    "(?:" PART ":){4}(?:(?::" PART "){1,3}|(?::" PART ")?:" FOUR "|:)|"                            \
    "(?:" PART ":){3}(?:(?::" PART "){1,4}|(?::" PART "){0,2}:" FOUR "|:)|"                        \
    "(?:" PART ":){2}(?:(?::" PART "){1,5}|(?::" PART "){0,3}:" FOUR "|:)|"                        \
    "(?:" PART ":)(?:(?::" PART "){1,6}|(?::" PART "){0,4}:" FOUR "|:)|"                           \
    ":(?:(?::" PART "){1,7}|(?::" PART "){0,5}:" FOUR "|:))(?:%.+)?"

static const struct grok_pattern patterns[] = {
    /* texts and numbers */
    {"WORD", "\\b\\w+\\b"},
    {"NOTSPACE", "\\S+"},
    {"SPACE", "\\s*"},
    {"DATA", ".*?"},
    {"GREEDYDATA", ".*"},
    {"INT", "[+-]?\\d+"},
    {"POSINT", "\\b[1-9]\\d*\\b"},
    {"NONNEGINT", "\\b\\d+\\b"},
    {"NUMBER", "%{BASE10NUM}"},
    {"BASE10NUM", "[+-]?\\d+(?:\\.\\d+)?|\\.\\d+"},
    {"BASE16NUM", "[+-]?(?:0x)?" HEX "+"},
    {"BASE16FLOAT", "[+-]?(?:0x)?" HEX "+(?:\\." HEX "*)?"},
    {"BOOL", "true|false"},
    {"QUOTEDSTRING", "\"[^\"\\\\]*(?:\\\\.[^\"\\\\]*)*\"|'[^'\\\\]*(?:\\\\.[^'\\\\]*)*'"},
    {"QS", "%{QUOTEDSTRING}"},
    {"UUID", HEX "{8}(?:-" HEX "{4}){3}-" HEX "{12}"},
    {"URN", "urn:[0-9A-Za-z][0-9A-Za-z-]{0,31}:[0-9A-Za-z()+,.:=@;$_!*'/?#-]+"},
    {"LOGLEVEL", "(?i)(?:alert|trace|debug|notice|info(?:rmation)?|warn(?:ing)?|err(?:or)?|"
                 "crit(?:ical)?|fatal|severe|emerg(?:ency)?)"},
    /* hosts and users */
    {"IP", "%{IPV6}|%{IPV4}"},
    {"IPV4", "(?:(?:25[0-5]|2[0-4]\\d|[01]?\\d\\d?)\\.){3}(?:25[0-5]|2[0-4]\\d|[01]?\\d\\d?)"},
    {"IPV6", IPV6},
    {"HOSTNAME", "\\b" LABEL "(?:\\." LABEL ")*(?:\\.?|\\b)"},
    {"IPORHOST", "%{IP}|%{HOSTNAME}"},
    {"HOSTPORT", "%{IPORHOST}:%{POSINT}"},
    {"USERNAME", "[a-zA-Z0-9._-]+"},
    {"USER", "%{USERNAME}"},
    {"EMAILLOCALPART", "[a-zA-Z][a-zA-Z0-9_+-=]+"},
    {"EMAILADDRESS", "%{EMAILLOCALPART}@%{HOSTNAME}"},
    {"MAC", "%{CISCOMAC}|%{WINDOWSMAC}|%{COMMONMAC}"},
    {"CISCOMAC", "(?:" HEX "{4}\\.){2}" HEX "{4}"},
    {"WINDOWSMAC", "(?:" HEX "{2}-){5}" HEX "{2}"},
    {"COMMONMAC", "(?:" HEX "{2}:){5}" HEX "{2}"},
    /* paths */
    {"PATH", "%{UNIXPATH}|%{WINPATH}"},
    {"UNIXPATH", "(?:/[\\w%!$@:.,+~-]+)+"},
    {"WINPATH", "[A-Za-z]+:(?:\\\\[^\\\\?*]+)+"},
    {"TTY", "/dev/(?:pts|tty[pq]?)\\w*/?\\d+"},
    {"URI", "%{URIPROTO}://(?:%{USER}(?::[^@]*)?@)?%{URIHOST}(?:%{URIPATH}(?:\\?%{URIQUERY})?)?"},
    {"URIPROTO", "[A-Za-z][A-Za-z0-9+.-]+"},
    {"URIHOST", "%{IPORHOST}(?::%{POSINT})?"},
    {"URIPATH", "(?:/[A-Za-z0-9$.+!*'(){},~:;=@#%&_-]+)+"},
    {"URIQUERY", "[A-Za-z0-9$.+!*'|(){},~@#%&/=:;_?\\-\\[\\]<>]*"},
    {"URIPARAM", "\\?%{URIQUERY}"},
    {"URIPATHPARAM", "%{URIPATH}(?:\\?%{URIQUERY})?"},
    /* times */
    {"MONTH", "\\b(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|"
              "Aug(?:ust)?|Sep(?:tember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\\b"},
    {"MONTHNUM", "0[1-9]|1[0-2]"},
    {"MONTHDAY", "0[1-9]|[12]\\d|3[01]|[1-9]"},
    {"DAY", "\\b(?:Mon(?:day)?|Tue(?:sday)?|Wed(?:nesday)?|Thu(?:rsday)?|Fri(?:day)?|Sat(?:urday)?|"
            "Sun(?:day)?)\\b"},
    {"YEAR", "(?:\\d\\d){1,2}"},
    {"HOUR", "2[0-3]|[01]?\\d"},
    {"MINUTE", "[0-5]\\d"},
    {"SECOND", "(?:[0-5]\\d|60)(?:[:.,]\\d+)?"},
    {"TIME", "%{HOUR}:%{MINUTE}(?::%{SECOND})?"},
    {"DATE", "%{DATE_US}|%{DATE_EU}"},
    {"DATE_US", "%{MONTHNUM}[/-]%{MONTHDAY}[/-]%{YEAR}"},
    {"DATE_EU", "%{MONTHDAY}[./-]%{MONTHNUM}[./-]%{YEAR}"},
    {"ISO8601_TIMEZONE", "Z|[+-]%{HOUR}(?::?%{MINUTE})"},
    {"ISO8601_SECOND", "%{SECOND}"},
    {"TIMESTAMP_ISO8601", "%{YEAR}-%{MONTHNUM}-%{MONTHDAY}[T ]%{HOUR}:?%{MINUTE}(?::?%{SECOND})?"
                          "%{ISO8601_TIMEZONE}?"},
    {"TZ", "[PMACE][SED]T|UTC"},
    {"DATESTAMP", "%{DATE}[- ]%{TIME}"},
    {"DATESTAMP_RFC822", "%{DAY} %{MONTH} %{MONTHDAY} %{YEAR} %{TIME} %{TZ}"},
    {"DATESTAMP_RFC2822", "%{DAY}, %{MONTHDAY} %{MONTH} %{YEAR} %{TIME} %{ISO8601_TIMEZONE}"},
    {"DATESTAMP_OTHER", "%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{TZ} %{YEAR}"},
    {"DATESTAMP_EVENTLOG", "%{YEAR}%{MONTHNUM}%{MONTHDAY}%{HOUR}%{MINUTE}%{SECOND}"},
    {"SYSLOGTIMESTAMP", "%{MONTH} +%{MONTHDAY} %{TIME}"},
    {"HTTPDATE", "%{MONTHDAY}/%{MONTH}/%{YEAR}:%{TIME} %{INT}"},
    /* syslog */
    {"PROG", "[!-Z\\\\^-~]+"},
    {"SYSLOGPROG", "%{PROG}(?:\\[\\d+\\])?"},
    {"SYSLOGHOST", "%{IPORHOST}"},
    {"SYSLOGFACILITY", "<%{NONNEGINT}.%{NONNEGINT}>"},
    {"SYSLOGBASE", "%{SYSLOGTIMESTAMP:timestamp} (?:%{SYSLOGFACILITY} )?%{SYSLOGHOST:host.name} "
                   "%{SYSLOGPROG}:"},
    {"SYSLOGBASE2", "(?:%{SYSLOGTIMESTAMP:timestamp}|%{TIMESTAMP_ISO8601:timestamp})"
                    "(?: %{SYSLOGFACILITY})?(?: %{SYSLOGHOST:host.name})?(?: %{SYSLOGPROG}:)?"},
    {"SYSLOGLINE", "%{SYSLOGBASE2} %{GREEDYDATA:message}"},
    {"SYSLOG5424PRINTASCII", "[!-~]+"},
    {"SYSLOGPAMSESSION",
     "%{SYSLOGBASE} "
     "%{GREEDYDATA:message}%{WORD:system.auth.pam.module}\\(%{DATA:system.auth.pam.origin}\\): "
     "session %{WORD:system.auth.pam.session_state} for user %{USERNAME:user.name}(?: by "
     "%{GREEDYDATA})?"},
    {"CRON_ACTION", "[A-Z ]+"},
    {"CRONLOG", "%{SYSLOGBASE} \\(%{USER:user.name}\\) %{CRON_ACTION:system.cron.action} "
                "\\(%{DATA:message}\\)"},
    {"SYSLOG5424PRI", "<%{NONNEGINT:log.syslog.priority:int}>"},
    {"SYSLOG5424SD", "\\[%{DATA}\\]+"},
    {"SYSLOG5424BASE",
     "%{SYSLOG5424PRI}%{NONNEGINT:system.syslog.version} +(?:-|%{TIMESTAMP_ISO8601:timestamp}) "
     "+(?:-|%{IPORHOST:host.name}) +(?:-|%{SYSLOG5424PRINTASCII:process.command}) "
     "+(?:-|%{POSINT:process.pid:int}) +(?:-|%{SYSLOG5424PRINTASCII:event.code}) "
     "+(?:-|%{SYSLOG5424SD:system.syslog.structured_data})?"},
    {"SYSLOG5424LINE", "%{SYSLOG5424BASE} +%{GREEDYDATA:message}"},
    /* web servers */
    {"HTTPDUSER", "%{EMAILADDRESS}|%{USER}"},
    {"HTTPD_COMMONLOG",
     "%{IPORHOST:source.address} (?:-|%{HTTPDUSER:apache.access.user.identity}) "
     "(?:-|%{HTTPDUSER:user.name}) \\[%{HTTPDATE:timestamp}\\] \"(?:%{WORD:http.request.method} "
     "%{NOTSPACE:url.original}(?: HTTP/%{NUMBER:http.version})?|%{DATA})\" "
     "(?:-|%{INT:http.response.status_code:int}) (?:-|%{INT:http.response.body.size:long})"},
    {"HTTPD_COMBINEDLOG", "%{HTTPD_COMMONLOG} \"(?:-|%{DATA:http.request.referrer})\" "
                          "\"(?:-|%{DATA:user_agent.original})\""},
    {"COMMONAPACHELOG", "%{HTTPD_COMMONLOG}"},
    {"COMBINEDAPACHELOG", "%{HTTPD_COMBINEDLOG}"},
    {0},
};

static struct view find(const struct grok_pattern *pattern, struct view name)
{
    while (pattern->name && !view_eq(name, view_of(pattern->name)))
        pattern++;
    return pattern->name ? view_of(pattern->pattern) : (struct view){0};
}

struct view grok_definition(struct view name)
{
    static const struct grok_pattern *const tables[] = {patterns, grok_web, grok_network, grok_java,
                                                        grok_services};
    struct view found = {0};
    for (size_t i = 0; !found.data && i < sizeof tables / sizeof *tables; i++)
        found = find(tables[i], name);
    return found;
}
