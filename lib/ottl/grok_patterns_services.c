/* Grok patterns of the logs of databases, mail servers, Ruby and Rails. */
#include "lib/ottl/grok.h"

const struct grok_pattern grok_services[] = {
    /* MongoDB */
    {"MONGO_LOG",
     "%{SYSLOGTIMESTAMP:timestamp} \\[%{WORD:db.mongodb.component}\\] %{GREEDYDATA:message}"},
    {"MONGO_QUERY_CONTENT", ".*?"},
    {"MONGO_QUERY", "\\{ %{MONGO_QUERY_CONTENT:MONGO_QUERY} \\} ntoreturn:"},
    {"MONGO_SLOWQUERY",
     "%{WORD:db.mongodb.profile.op} "
     "%{MONGO_WORDDASH:db.mongodb.database}\\.%{MONGO_WORDDASH:db.mongodb.collection} %{WORD}: "
     "\\{ %{MONGO_QUERY_CONTENT:db.mongodb.query.original} \\} "
     "ntoreturn:%{NONNEGINT:db.mongodb.profile.ntoreturn:int} "
     "ntoskip:%{NONNEGINT:db.mongodb.profile.ntoskip:int} "
     "nscanned:%{NONNEGINT:db.mongodb.profile.nscanned:int}.*? "
     "nreturned:%{NONNEGINT:db.mongodb.profile.nreturned:int}.*? "
     "%{INT:db.mongodb.profile.duration:int}ms"},
    {"MONGO_WORDDASH", "\\b[\\w-]+\\b"},
    {"MONGO3_SEVERITY", "\\w"},
    {"MONGO3_COMPONENT", "%{WORD}"},
    {"MONGO3_LOG",
     "%{TIMESTAMP_ISO8601:timestamp} %{MONGO3_SEVERITY:log.level} "
     "(?:-|%{MONGO3_COMPONENT:db.mongodb.component})%{SPACE}(?:\\[%{DATA:db.mongodb.context}\\])? "
     "%{GREEDYDATA:message}"},
    /* PostgreSQL */
    {"POSTGRESQL", "%{DATESTAMP:timestamp} %{TZ:event.timezone} %{DATA:user.name} "
                   "%{GREEDYDATA:postgresql.log.connection_id} %{POSINT:process.pid:int}"},
    /* Redis */
    {"REDISTIMESTAMP", "%{MONTHDAY} %{MONTH} %{TIME}"},
    {"REDISLOG", "\\[%{POSINT:process.pid:int}\\] %{REDISTIMESTAMP:timestamp} \\*"},
    {"REDISMONLOG", "%{NUMBER:timestamp} \\[%{INT:redis.database.id} "
                    "%{IP:client.address}:%{POSINT:client.port:int}\\] "
                    "\"%{WORD:redis.command.name}\"\\s?%{GREEDYDATA:redis.command.args}"},
    /* Exim */
    {"EXIM_MSGID", "[0-9A-Za-z]{6}-[0-9A-Za-z]{6}-[0-9A-Za-z]{2}"},
    {"EXIM_FLAGS", "<=|=>|->|\\*>|\\*\\*|==|<>|>>"},
    {"EXIM_DATE", ":?%{YEAR}-%{MONTHNUM}-%{MONTHDAY} %{TIME}"},
    {"EXIM_PID", "\\[%{POSINT:process.pid:int}\\]"},
    {"EXIM_QT", "(?:\\d+y)?(?:\\d+w)?(?:\\d+d)?(?:\\d+h)?(?:\\d+m)?(?:\\d+s)?"},
    {"EXIM_EXCLUDE_TERMS",
     "Message is frozen|(?:Start|End) queue run| Warning: | retry time not reached | no (?:IP "
     "address|host name) found for (?:IP address|host) | unexpected disconnection while reading "
     "SMTP command | no immediate delivery: |another process is handling this message"},
    {"EXIM_REMOTE_HOST",
     "H=(?:\\(%{NOTSPACE:source.host.name}\\) )?(?:\\(%{NOTSPACE:exim.log.remote_address}\\) "
     ")?\\[%{IP:source.address}\\](?::%{POSINT:source.port:int})?"},
    {"EXIM_INTERFACE", "I=\\[%{IP:destination.address}\\](?::%{NUMBER:destination.port:int})"},
    {"EXIM_PROTOCOL", "P=%{NOTSPACE:network.protocol.name}"},
    {"EXIM_MSG_SIZE", "S=%{NUMBER:exim.log.message.body.size:int}"},
    {"EXIM_HEADER_ID", "id=%{NOTSPACE:exim.log.header_id}"},
    {"EXIM_QUOTED_CONTENT", "[^\\\\\"]*(?:\\\\.[^\\\\\"]*)*"},
    {"EXIM_SUBJECT", "T=\"%{EXIM_QUOTED_CONTENT:exim.log.message.subject}\""},
    {"EXIM_UNKNOWN_FIELD", "[A-Za-z0-9]{1,4}=(?:%{QUOTEDSTRING}|%{NOTSPACE})"},
    {"EXIM_NAMED_FIELDS", "(?: "
                          "(?:%{EXIM_REMOTE_HOST}|%{EXIM_INTERFACE}|%{EXIM_PROTOCOL}|%{EXIM_MSG_"
                          "SIZE}|%{EXIM_HEADER_ID}|%{EXIM_SUBJECT}|%{EXIM_UNKNOWN_FIELD}))*"},
    {"EXIM_MESSAGE_ARRIVAL",
     "%{EXIM_DATE:timestamp} (?:%{EXIM_PID} )?%{EXIM_MSGID:exim.log.message.id} "
     "(?P<exim___log___flags><=) (?:(?P<exim___log___status>[a-z:]) "
     ")?%{EMAILADDRESS:exim.log.sender.email}%{EXIM_NAMED_FIELDS}(?:(?: from "
     "<?%{DATA:exim.log.sender.original}>?)? for %{EMAILADDRESS:exim.log.recipient.email})?"},
    {"EXIM", "%{EXIM_MESSAGE_ARRIVAL}"},
    /* Rails */
    {"RUUID", "\\S{32}"},
    {"RCONTROLLER", "(?P<rails___controller___class>[^#]+)#(?P<rails___controller___action>\\w+)"},
    {"RAILS3HEAD", "(?m)Started %{WORD:http.request.method} \"%{URIPATHPARAM:url.original}\" for "
                   "%{IPORHOST:source.address} at (?<timestamp>%{YEAR}-%{MONTHNUM}-%{MONTHDAY} "
                   "%{HOUR}:%{MINUTE}:%{SECOND} %{ISO8601_TIMEZONE})"},
    {"RPROCESSING",
     "\\W*Processing by %{RCONTROLLER} as (?P<rails___request___format>\\S+)(?:\\W*Parameters: "
     "{%{DATA:rails.request.params}}\\W*)?"},
    {"RAILS3FOOT", "Completed %{POSINT:http.response.status_code:int}%{DATA} in "
                   "%{NUMBER:rails.request.duration.total:float}ms %{RAILS3PROFILE}%{GREEDYDATA}"},
    {"RAILS3PROFILE",
     "(?:\\(Views: %{NUMBER:rails.request.duration.view:float}ms \\| ActiveRecord: "
     "%{NUMBER:rails.request.duration.active_record:float}ms|\\(ActiveRecord: "
     "%{NUMBER:rails.request.duration.active_record:float}ms)?"},
    {"RAILS3", "%{RAILS3HEAD}(?:%{RPROCESSING})?(?P<rails___request___explain___original>(?:%{DATA}"
               "\\n)*)(?:%{RAILS3FOOT})?"},
    /* Ruby */
    {"RUBY_LOGLEVEL", "DEBUG|FATAL|ERROR|WARN|INFO"},
    {"RUBY_LOGGER",
     "[DFEWI], \\[%{TIMESTAMP_ISO8601:timestamp} #%{POSINT:process.pid:int}\\] "
     "*%{RUBY_LOGLEVEL:log.level} -- +%{DATA:process.command}: %{GREEDYDATA:message}"},
    /* MCollective */
    {"MCOLLECTIVE", "., \\[%{TIMESTAMP_ISO8601:timestamp} "
                    "#%{POSINT:process.pid:int}\\]%{SPACE}%{LOGLEVEL:log.level}"},
    {"MCOLLECTIVEAUDIT", "%{TIMESTAMP_ISO8601:timestamp}:"},
    {0},
};
