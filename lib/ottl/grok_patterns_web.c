/* Grok patterns of the logs of web servers, proxies and load balancers. */
#include "lib/ottl/grok.h"

const struct grok_pattern grok_web[] = {
    /* Apache httpd */
    {"HTTPDERROR_DATE", "%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{YEAR}"},
    {"HTTPD20_ERRORLOG",
     "\\[%{HTTPDERROR_DATE:timestamp}\\] \\[%{LOGLEVEL:log.level}\\] (?:\\[client "
     "%{IPORHOST:source.address}\\] )?%{GREEDYDATA:message}"},
    {"HTTPD24_ERRORLOG",
     "\\[%{HTTPDERROR_DATE:timestamp}\\] "
     "\\[(?:%{WORD:apache.error.module})?:%{LOGLEVEL:log.level}\\] \\[pid "
     "%{POSINT:process.pid:long}(?::tid %{INT:process.thread.id:int})?\\](?: "
     "\\(%{POSINT:apache.error.proxy.error.code}\\)?%{DATA:apache.error.proxy.error.message}:)?(?: "
     "\\[client %{IPORHOST:source.address}(?::%{POSINT:source.port:int})?\\])?(?: "
     "%{DATA:error.code}:)? %{GREEDYDATA:message}"},
    {"HTTPD_ERRORLOG", "%{HTTPD20_ERRORLOG}|%{HTTPD24_ERRORLOG}"},
    /* HAProxy */
    {"HAPROXYTIME", "\\b%{HOUR}:%{MINUTE}(?::%{SECOND})?\\b"},
    {"HAPROXYDATE", "%{MONTHDAY}/%{MONTH}/%{YEAR}:%{HAPROXYTIME}.%{INT}"},
    {"HAPROXYCAPTUREDREQUESTHEADERS", "-|%{DATA:haproxy.http.request.captured_headers}"},
    {"HAPROXYCAPTUREDRESPONSEHEADERS", "-|%{DATA:haproxy.http.response.captured_headers}"},
    {"HAPROXYURI", "(?:%{URIPROTO:url.scheme}://"
                   ")?(?:%{USER:url.username}(?::[^@]*)?@)?(?:%{IPORHOST:url.domain}(?::%{POSINT:"
                   "url.port:int})?)?(?:%{URIPATH:url.path}(?:\\?%{URIQUERY:url.query})?)?"},
    {"HAPROXYHTTPREQUESTLINE",
     "<BADREQ>|(?:%{WORD:http.request.method} %{HAPROXYURI:url.original}(?: "
     "HTTP/%{NUMBER:http.version})?)"},
    {"HAPROXYHTTPBASE",
     "%{IP:source.address}:%{INT:source.port:int} \\[%{HAPROXYDATE:haproxy.request_date}\\] "
     "%{NOTSPACE:haproxy.frontend_name} "
     "%{NOTSPACE:haproxy.backend_name}/(?:<NOSRV>|%{NOTSPACE:haproxy.server_name}) "
     "(?:-1|%{INT:haproxy.http.request.time_wait_ms:int})/"
     "(?:-1|%{INT:haproxy.total_waiting_time_ms:int})/"
     "(?:-1|%{INT:haproxy.connection_wait_time_ms:int})/"
     "(?:-1|%{INT:haproxy.http.request.time_wait_without_data_ms:int})/"
     "%{NOTSPACE:haproxy.total_time_ms} "
     "%{INT:http.response.status_code:int} %{INT:source.bytes:long} "
     "(?:-|%{DATA:haproxy.http.request.captured_cookie}) "
     "(?:-|%{DATA:haproxy.http.response.captured_cookie}) %{NOTSPACE:haproxy.termination_state} "
     "%{INT:haproxy.connections.active:int}/%{INT:haproxy.connections.frontend:int}/"
     "%{INT:haproxy.connections.backend:int}/%{INT:haproxy.connections.server:int}/"
     "%{INT:haproxy.connections.retries:int} "
     "%{INT:haproxy.server_queue:int}/%{INT:haproxy.backend_queue:int}(?: "
     "\\{%{HAPROXYCAPTUREDREQUESTHEADERS}\\}(?: \\{%{HAPROXYCAPTUREDRESPONSEHEADERS}\\})?)?(?: "
     "\"%{HAPROXYHTTPREQUESTLINE}\"?)?"},
    {"HAPROXYHTTP",
     "(?:%{SYSLOGTIMESTAMP:timestamp}|%{TIMESTAMP_ISO8601:timestamp}) %{IPORHOST:host.name} "
     "%{SYSLOGPROG}: %{HAPROXYHTTPBASE}"},
    {"HAPROXYTCP",
     "(?:%{SYSLOGTIMESTAMP:timestamp}|%{TIMESTAMP_ISO8601:timestamp}) %{IPORHOST:host.name} "
     "%{SYSLOGPROG}: %{IP:source.address}:%{INT:source.port:int} "
     "\\[%{HAPROXYDATE:haproxy.request_date}\\] %{NOTSPACE:haproxy.frontend_name} "
     "%{NOTSPACE:haproxy.backend_name}/(?:<NOSRV>|%{NOTSPACE:haproxy.server_name}) "
     "(?:-1|%{INT:haproxy.total_waiting_time_ms:int})/"
     "(?:-1|%{INT:haproxy.connection_wait_time_ms:int})/%{NOTSPACE:haproxy.total_time_ms} "
     "%{INT:source.bytes:long} %{NOTSPACE:haproxy.termination_state} "
     "%{INT:haproxy.connections.active:int}/%{INT:haproxy.connections.frontend:int}/"
     "%{INT:haproxy.connections.backend:int}/%{INT:haproxy.connections.server:int}/"
     "%{INT:haproxy.connections.retries:int} "
     "%{INT:haproxy.server_queue:int}/%{INT:haproxy.backend_queue:int}"},
    /* Squid */
    {"SQUID3_STATUS", "%{POSINT:http.response.status_code:int}|0|000"},
    {"SQUID3",
     "%{NUMBER:timestamp}\\s+%{NUMBER:squid.request.duration:int}\\s%{IP:source.address}\\s%{WORD:"
     "event.action}/"
     "%{SQUID3_STATUS}\\s%{INT:http.response.bytes:long}\\s%{WORD:http.request.method}\\s%{"
     "NOTSPACE:url.original}\\s(?:-|%{NOTSPACE:user.name})\\s%{WORD:squid.hierarchy_code}/"
     "(?:-|%{IPORHOST:destination.address})\\s(?:-|%{NOTSPACE:http.response.mime_type})"},
    /* S3, Elastic Load Balancing, CloudFront */
    {"S3_REQUEST_LINE",
     "%{WORD:http.request.method} %{NOTSPACE:url.original}(?: HTTP/%{NUMBER:http.version})?"},
    {"S3_ACCESS_LOG",
     "%{WORD:aws.s3access.bucket_owner} %{NOTSPACE:aws.s3access.bucket} "
     "\\[%{HTTPDATE:timestamp}\\] (?:-|%{IP:client.address}) (?:-|%{NOTSPACE:client.user.id}) "
     "%{NOTSPACE:aws.s3access.request_id} %{NOTSPACE:aws.s3access.operation} "
     "(?:-|%{NOTSPACE:aws.s3access.key}) (?:-|\"%{S3_REQUEST_LINE:aws.s3access.request_uri}\") "
     "(?:-|%{INT:http.response.status_code:int}) (?:-|%{NOTSPACE:aws.s3access.error_code}) "
     "(?:-|%{INT:aws.s3access.bytes_sent:long}) (?:-|%{INT:aws.s3access.object_size:long}) "
     "(?:-|%{INT:aws.s3access.total_time:int}) (?:-|%{INT:aws.s3access.turn_around_time:int}) "
     "\"(?:-|%{DATA:http.request.referrer})\" \"(?:-|%{DATA:user_agent.original})\" "
     "(?:-|%{NOTSPACE:aws.s3access.version_id})(?: (?:-|%{NOTSPACE:aws.s3access.host_id}) "
     "(?:-|%{NOTSPACE:aws.s3access.signature_version}) (?:-|%{NOTSPACE:tls.cipher}) "
     "(?:-|%{NOTSPACE:aws.s3access.authentication_type}) "
     "(?:-|%{NOTSPACE:aws.s3access.host_header}) (?:-|%{NOTSPACE:aws.s3access.tls_version}))?"},
    {"ELB_URIHOST", "%{IPORHOST:url.domain}(?::%{POSINT:url.port:int})?"},
    {"ELB_URIPATHQUERY", "%{URIPATH:url.path}(?:\\?%{URIQUERY:url.query})?"},
    {"ELB_URIPATHPARAM", "%{ELB_URIPATHQUERY}"},
    {"ELB_URI", "%{URIPROTO:url.scheme}://"
                "(?:%{USER:url.username}(?::[^@]*)?@)?(?:%{ELB_URIHOST})?(?:%{ELB_URIPATHQUERY})?"},
    {"ELB_REQUEST_LINE",
     "%{WORD:http.request.method} %{ELB_URI:url.original}(?: HTTP/%{NUMBER:http.version})?"},
    {"ELB_V1_HTTP_LOG", "%{TIMESTAMP_ISO8601:timestamp} %{NOTSPACE:aws.elb.name} "
                        "%{IP:source.address}:%{INT:source.port:int} "
                        "(?:-|(?:%{IP:aws.elb.backend.ip}:%{INT:aws.elb.backend.port:int})) "
                        "(?:-1|%{NUMBER:aws.elb.request_processing_time.sec:float}) "
                        "(?:-1|%{NUMBER:aws.elb.backend_processing_time.sec:float}) "
                        "(?:-1|%{NUMBER:aws.elb.response_processing_time.sec:float}) "
                        "%{INT:http.response.status_code:int} "
                        "(?:-|%{INT:aws.elb.backend.http.response.status_code:int}) "
                        "%{INT:http.request.body.size:long} %{INT:http.response.body.size:long} "
                        "\"%{ELB_REQUEST_LINE}\"(?: \"(?:-|%{DATA:user_agent.original})\" "
                        "(?:-|%{NOTSPACE:tls.cipher}) (?:-|%{NOTSPACE:aws.elb.ssl_protocol}))?"},
    {"ELB_ACCESS_LOG", "%{ELB_V1_HTTP_LOG}"},
    {"CLOUDFRONT_ACCESS_LOG",
     "(?<timestamp>%{YEAR}-%{MONTHNUM}-%{MONTHDAY}\\t%{TIME})\\t"
     "%{WORD:aws.cloudfront.x_edge_location}\\t(?:-|%{INT:destination.bytes:long})\\t"
     "%{IPORHOST:source.address}\\t%{WORD:http.request.method}\\t%{HOSTNAME:url.domain}\\t"
     "%{NOTSPACE:url.path}\\t(?:000|%{INT:http.response.status_code:int})\\t"
     "(?:-|%{DATA:http.request.referrer})\\t%{DATA:user_agent.original}\\t"
     "(?:-|%{DATA:url.query})\\t(?:-|%{DATA:aws.cloudfront.http.request.cookie})\\t"
     "%{WORD:aws.cloudfront.x_edge_result_type}\\t%{NOTSPACE:aws.cloudfront.x_edge_request_id}\\t"
     "%{HOSTNAME:aws.cloudfront.http.request.host}\\t%{URIPROTO:network.protocol.name}\\t"
     "(?:-|%{INT:source.bytes:long})\\t%{NUMBER:aws.cloudfront.time_taken:float}\\t"
     "(?:-|%{IP:network.forwarded_ip})\\t(?:-|%{DATA:aws.cloudfront.ssl_protocol})\\t"
     "(?:-|%{NOTSPACE:tls.cipher})\\t%{WORD:aws.cloudfront.x_edge_response_result_type}(?:\\t"
     "(?:-|HTTP/%{NUMBER:http.version})\\t(?:-|%{DATA:aws.cloudfront.fle_status})\\t"
     "(?:-|%{DATA:aws.cloudfront.fle_encrypted_fields})\\t%{INT:source.port:int}\\t"
     "%{NUMBER:aws.cloudfront.time_to_first_byte:float}\\t"
     "(?:-|%{DATA:aws.cloudfront.x_edge_detailed_result_type})\\t"
     "(?:-|%{NOTSPACE:http.request.mime_type})\\t"
     "(?:-|%{INT:aws.cloudfront.http.request.size:long})\\t"
     "(?:-|%{INT:aws.cloudfront.http.request.range.start:long})\\t"
     "(?:-|%{INT:aws.cloudfront.http.request.range.end:long}))?"},
    {0},
};
